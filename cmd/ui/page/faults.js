/** Buttons for the faults that the simulated Azure can be given. */

import { post } from "./api.js";
import { el } from "./dom.js";

/** Show a button for each fault. faults: [{name, title, about, on}]. say: takes a sentence. */
export function showFaults(element, faults, say) {
  const focused = element.contains(document.activeElement) ? document.activeElement.dataset.name : null;
  element.replaceChildren(...faults.map((fault) => {
    const button = el("button", {
      type: "button", class: "fault", "data-name": fault.name, "aria-pressed": String(fault.on),
      "aria-describedby": `about-${fault.name}`,
      onclick: async () => {
        button.setAttribute("aria-busy", "true");
        try {
          await post(`api/faults/${encodeURIComponent(fault.name)}`, { on: !fault.on });
          fault.on = !fault.on;
          button.setAttribute("aria-pressed", String(fault.on));
          mark.textContent = fault.on ? "on" : "off";
          say(`The fault "${fault.title}" is ${fault.on ? "on" : "off"}.`);
        } catch (error) {
          say(error.message, true);
        }
        button.removeAttribute("aria-busy");
      },
    });
    const mark = el("span", { class: "mark", "aria-hidden": "true" }, fault.on ? "on" : "off");
    button.append(mark, el("span", { class: "title" }, fault.title));
    return el("div", { class: "fault-row" }, button, el("p", { class: "hint", id: `about-${fault.name}` }, fault.about));
  }));
  if (focused) [...element.querySelectorAll("button")].find((one) => one.dataset.name === focused)?.focus();
}
