/** An editor of manifests that applies them to the sandbox. */

import { post } from "./api.js";
import { el, counted } from "./dom.js";
import { titleOf } from "./objects.js";

const EXAMPLE = `apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata:
  name: from-the-page
  namespace: default
spec:
  location: westeurope
`;

/** Fill the form. onSelect: is called with the key of an applied object. say: takes a sentence. */
export function editor(form, onSelect, say) {
  const text = el("textarea", { id: "yaml", rows: "16", spellcheck: "false", autocapitalize: "off", "aria-describedby": "yaml-help" });
  text.value = EXAMPLE;
  const results = el("div", { class: "results", role: "group", "aria-label": "Results" });
  const button = el("button", { type: "submit", class: "main" }, "Apply");
  form.append(
    el("label", { for: "yaml" }, "Manifests in YAML"), text,
    el("p", { class: "hint", id: "yaml-help" }, "Several documents are separated by ---. Ctrl+Enter applies; Tab leaves the field."),
    el("p", { class: "tools" }, button), results,
  );
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const answer = await post("api/apply", { yaml: text.value });
      results.replaceChildren(resultList(answer.results, onSelect));
      const refused = answer.results.filter((one) => one.outcome === "refused").length;
      say(refused ? `${counted(refused, "manifest")} refused.` : `${counted(answer.results.length, "manifest")} applied.`);
    } catch (error) {
      results.replaceChildren(el("p", { class: "result refused" }, el("strong", null, "refused"), " ", error.message));
      say(error.message);
    }
    button.disabled = false;
  });
}

function resultList(results, onSelect) {
  return el("ul", { class: "plain" }, results.map((one) => el("li", { class: `result ${one.outcome}` },
    el("strong", null, one.outcome), " ",
    one.key && one.outcome !== "refused"
      ? el("button", { type: "button", class: "link", onclick: () => onSelect(one.key) }, titleOf(one.key))
      : one.key ? titleOf(one.key) : "",
    one.message && !(one.key && one.message === titleOf(one.key)) ? ` ${one.message}` : "")));
}
