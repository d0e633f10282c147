/** Requests to the page's server. An error's message is a sentence for people. */

const token = document.querySelector("meta[name=page-token]").content;

export const get = (path) => request(path, {});

export const post = (path, body) => request(path, {
  method: "POST",
  headers: { "Content-Type": "application/json", "X-Page-Token": token },
  body: JSON.stringify(body),
});

async function request(path, options) {
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
