/* Search from a disk: browsers start no worker from a file, so a hidden frame plays one.
 *
 * Of the Worker interface it has what the search uses: messages both ways, and scripts
 * that a worker imports, one after the other.
 */
if (location.protocol === "file:") {
  const INSIDE = `
    const send = (data) => parent.postMessage(data, "*");
    window.postMessage = send;
    window.importScripts = (...urls) => urls.reduce((before, url) => before.then(
      () => new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = url;
        script.onload = done;
        script.onerror = failed;
        document.head.appendChild(script);
      })), Promise.resolve());
  `;

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      // Kept, as the frame's own is about to become the way out.
      const deliver = inside.postMessage.bind(inside);
      this.ready = new Promise((done) => { this.frame.onload = done; });
      this.deliver = deliver;
      const page = inside.document;
      page.open();
      page.write(`<!doctype html><base href="${document.baseURI}"><script>${INSIDE}<\/script>` +
        `<script src="${url}"><\/script>`);
      page.close();
      window.addEventListener("message", (event) => {
        if (event.source === inside) {
          const told = new MessageEvent("message", { data: event.data });
          this.dispatchEvent(told);
          if (this.onmessage) this.onmessage(told);
        }
      });
    }

    postMessage(data) {
      this.ready.then(() => this.deliver(data, "*"));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
