/** Dark, light, or as the system has it; the browser remembers the choice. */

const CHOICES = { auto: "Theme: auto", dark: "Theme: dark", light: "Theme: light" };

/** Make a button choose the next theme. onChange: is called after each choice. */
export function themeButton(button, onChange) {
  const names = Object.keys(CHOICES);
  const show = (name) => {
    document.documentElement.dataset.theme = name;
    button.textContent = CHOICES[name];
    onChange();
  };
  let name = localStorage.getItem("theme");
  if (!(name in CHOICES)) name = "auto";
  show(name);
  button.addEventListener("click", () => {
    name = names[(names.indexOf(name) + 1) % names.length];
    localStorage.setItem("theme", name);
    show(name);
  });
}
