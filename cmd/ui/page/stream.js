/** Changes as the server tells them, and whether they still come. */

import { get } from "./api.js";

const LONGEST_WAIT_SECONDS = 15;

/**
 * Follow the server's events for as long as the page is open: each request waits for the next ones.
 *
 * on: a function for each name of an event. onLink: is called with `live`, or with `lost`
 * and the seconds until the next try.
 */
export async function follow(on, onLink) {
  let last = "";
  let wait = 1;
  let isLive = false;
  for (;;) {
    let found;
    try {
      // The first answer after a failure shows that the server is back: it must not wait for an event.
      found = await get(`api/events?last=${encodeURIComponent(last)}${isLive ? "" : "&at-once="}`);
    } catch {
      isLive = false;
      onLink("lost", wait);
      await new Promise((done) => setTimeout(done, wait * 1000));
      wait = Math.min(wait * 2, LONGEST_WAIT_SECONDS);
      continue;
    }
    last = found.last;
    wait = 1;
    isLive = true;
    onLink("live");
    for (const event of found.events) {
      try {
        on[event.name](event.data);
      } catch (error) {
        reportError(error); // of this event alone: the others are shown
      }
    }
  }
}
