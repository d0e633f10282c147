/** Changes as the server sends them, and whether they still come. */

const EVENTS = ["objects", "request", "charts", "faults", "reload"];
const LONGEST_WAIT_SECONDS = 15;

/**
 * Follow the server's events for as long as the page is open.
 *
 * on: a function for each name in EVENTS. onLink: is called with `live`, or with `lost`
 * and the seconds until the next try (0: the browser chooses).
 */
export function follow(on, onLink) {
  let wait = 1;
  const open = () => {
    const source = new EventSource("api/stream");
    for (const name of EVENTS) {
      source.addEventListener(name, (event) => on[name](event.data ? JSON.parse(event.data) : null));
    }
    source.onopen = () => { wait = 1; onLink("live"); };
    source.onerror = () => {
      // The browser tries again by itself, unless the server refused.
      if (source.readyState !== EventSource.CLOSED) { onLink("lost", 0); return; }
      onLink("lost", wait);
      setTimeout(open, wait * 1000);
      wait = Math.min(wait * 2, LONGEST_WAIT_SECONDS);
    };
  };
  open();
}
