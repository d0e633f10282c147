/** The deletion of an object of the sandbox, once it is confirmed. */

import { post } from "./api.js";
import { el } from "./dom.js";

/** Ask whether an object is to be deleted, and delete it. children: how many objects it owns. */
export function confirmDeletion(dialog, row, children, say) {
  const answer = async () => {
    dialog.close();
    try {
      await post("api/delete", { key: row.key });
      say(`${row.name} is being deleted.`);
    } catch (error) {
      say(error.message, true);
    }
  };
  dialog.replaceChildren(
    el("h2", { id: "confirm-title" }, `Delete ${row.name}?`),
    el("p", null, `${row.kind} ${row.namespace}/${row.name} is deleted, and its resource in the simulated Azure.`),
    children ? el("p", null, `It owns ${children === 1 ? "one object, which goes" : `${children} objects, which go`} with it.`) : "",
    el("p", { class: "tools" },
      el("button", { type: "button", onclick: () => dialog.close(), autofocus: true }, "Keep"),
      el("button", { type: "button", class: "danger", onclick: answer }, "Delete")),
  );
  dialog.showModal();
}
