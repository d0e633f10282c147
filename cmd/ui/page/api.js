/** Requests to the page's server. An error's message is a sentence for people. */

// Of this tab and this server alone, unlike a cookie, which each port of the machine gets.
const KEPT = "page-token";
let token = opened();

export const get = (path) => request(path, {});

export const post = (path, body) => request(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

/** Return the token of this page, or its promise: the key in the address is good once, and leaves it at once. */
function opened() {
  const given = new URLSearchParams(location.hash.slice(1));
  const key = given.get("once");
  if (!key) return sessionStorage.getItem(KEPT) ?? "";
  given.delete("once");
  history.replaceState(null, "", `${location.pathname}${given.size ? `#${given}` : ""}`);
  return send("api/open", { method: "POST", headers: { "X-Page-Key": key } }).then(({ token: made }) => {
    sessionStorage.setItem(KEPT, made);
    return made;
  });
}

async function request(path, options) {
  return send(path, { ...options, headers: { ...options.headers, "X-Page-Token": await token } });
}

async function send(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The page's server does not answer.");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const error = new Error(body.error ?? `The page's server answered with status ${answer.status}.`);
    error.status = answer.status;
    throw error;
  }
  return body;
}
