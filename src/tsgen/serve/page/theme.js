// Light or dark: as the system has it, until the switch says otherwise.

const system = matchMedia("(prefers-color-scheme: dark)");
const current = () => document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");

export function startTheme(button) {
  const kept = localStorage.getItem("theme");
  if (kept) document.documentElement.dataset.theme = kept;
  const label = () => { button.textContent = current() === "dark" ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`); };
  label();
  system.addEventListener("change", label);
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = current() === "dark" ? "light" : "dark";
    localStorage.setItem("theme", current());
    label();
  });
}
