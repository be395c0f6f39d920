// Remembers what goes wrong, so that a test (or a reader with a console) can ask the page.
"use strict";
(() => {
  const errors = [];
  const remember = (text) => {
    errors.push(String(text));
    document.documentElement.dataset.errors = JSON.stringify(errors);
  };
  window.addEventListener("error", (event) => remember(event.message || "a resource failed"), true);
  window.addEventListener("unhandledrejection", (event) => remember(event.reason));
  document.addEventListener("securitypolicyviolation", (event) =>
    remember(`${event.violatedDirective}: ${event.blockedURI}`)
  );
})();
