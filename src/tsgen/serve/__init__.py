"""An engine as a service: the HTTP interface and the page."""
