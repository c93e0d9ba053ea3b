// What has less contrast than WCAG AA wants (4.5); as a function, for the page to call.
() => {
  const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] === 1) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll("p, h2, h3, h4, label, button, code, mark, th, td, b, .chip, summary, .place")) {
    if (!e.checkVisibility() || !e.innerText.trim() || e.closest(":disabled, .hidden-label, .skip")) continue;
    const style = getComputedStyle(e), text = numbers(style.color);
    const [a, b] = [light(text), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(`${e.tagName}.${e.className} ${style.color}`);
  }
  return bad;
}
