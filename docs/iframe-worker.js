// Pages that are opened from disk may start no worker, so the search runs in a frame that is not shown. The name is one
// that the theme looks for, which otherwise asks the network for such a script.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      // What the worker calls to answer, and to load more scripts.
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const load = (source) =>
        new Promise((resolve, reject) => {
          const script = frame.contentDocument.createElement("script");
          script.src = source;
          script.onload = resolve;
          script.onerror = () => reject(new Error(`${source} does not load`));
          frame.contentDocument.body.append(script);
        });
      inner.importScripts = async (...sources) => {
        for (const source of sources) await load(source);
      };
      this.inner = inner;
      this.ready = load(url);
    }

    async postMessage(data) {
      await this.ready;
      this.inner.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
  window.Worker = window.IFrameWorker;
}
