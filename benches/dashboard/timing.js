// Measures one interaction inside the page. `run.py` adds it to the page before the page's own scripts.
//
// `bench.arm(isShown)` starts a measurement, and the first trusted event afterwards is its start. `bench.result()`
// resolves once `isShown` returns true in a frame and the page is quiet. All times are milliseconds.

window.bench = (() => {
  const EVENTS = ["pointerdown", "pointerup", "click", "keydown", "keyup", "input", "change", "wheel", "popstate"];
  /** Time without requests and long tasks after which the page is quiet. */
  const QUIET_MS = 200;
  let inFlight = 0;
  let lastBusy = performance.now();
  let run = null;

  const send = window.fetch.bind(window);
  window.fetch = async (...parameters) => {
    inFlight += 1;
    try {
      const response = await send(...parameters);
      if (run) run.requests += 1;
      // A copy of the response is read, so that the request counts until its body has arrived.
      void response
        .clone()
        .arrayBuffer()
        .then((body) => {
          if (run) run.bytes += body.byteLength;
        })
        .catch(() => {})
        .finally(leave);
      return response;
    } catch (error) {
      leave();
      throw error;
    }
  };

  function leave() {
    inFlight -= 1;
    lastBusy = performance.now();
  }

  const tasks = new PerformanceObserver((list) => readTasks(list.getEntries()));
  tasks.observe({ type: "longtask" });
  const timings = new PerformanceObserver((list) => readTimings(list.getEntries()));
  timings.observe({ type: "event", durationThreshold: 16 });

  function readTasks(entries) {
    for (const { startTime, duration } of entries) {
      lastBusy = Math.max(lastBusy, startTime + duration);
      if (run?.start && startTime + duration > run.start) run.blocked = Math.max(run.blocked, duration);
    }
  }

  function readTimings(entries) {
    for (const { startTime, duration } of entries) {
      if (run?.start && startTime >= run.start) run.eventTiming = Math.max(run.eventTiming, duration);
    }
  }

  /** Measures the time from an event to the end of the next frame. */
  function measureFrame(from) {
    const measured = run;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        measured.frame = Math.max(measured.frame, performance.now() - from);
      };
      channel.port2.postMessage(null);
    });
  }

  for (const type of EVENTS) {
    window.addEventListener(
      type,
      (event) => {
        if (!run || (!event.isTrusted && type !== "popstate")) return;
        run.start ||= event.timeStamp;
        measureFrame(event.timeStamp);
      },
      { capture: true, passive: true },
    );
  }

  function poll() {
    const polled = run;
    if (polled.start && polled.isShown()) {
      // The content is on the screen when the frame after this one begins.
      requestAnimationFrame((now) => {
        polled.content = now - polled.start;
      });
      return;
    }
    requestAnimationFrame(() => polled === run && poll());
  }

  async function quiet() {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      readTasks(tasks.takeRecords());
      if (inFlight === 0 && performance.now() - lastBusy > QUIET_MS) return;
    }
  }

  return {
    arm(isShown) {
      run = {
        start: 0,
        frame: 0,
        eventTiming: 0,
        content: 0,
        blocked: 0,
        requests: 0,
        bytes: 0,
        isShown,
      };
      poll();
    },
    /** Starts the measurement without an event, as for Back. */
    begin() {
      run.start = performance.now();
    },
    async result(timeout) {
      const measured = run;
      const end = performance.now() + timeout;
      while (!measured.content && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
      await quiet();
      readTimings(timings.takeRecords());
      run = null;
      const { frame, eventTiming, content, blocked, requests, bytes } = measured;
      return {
        nextPaint: Math.max(frame, eventTiming),
        content,
        blocked,
        requests,
        bytes,
      };
    },
    quiet,
    /** Returns whether the view is loaded and has an element; with a text, one that contains it. */
    has(selector, text = "") {
      if (document.querySelector("main [aria-busy=true], main[aria-busy=true]")) return false;
      for (const element of document.querySelectorAll(selector)) if (element.textContent.includes(text)) return true;
      return false;
    },
    title: (text) => document.querySelector("main h1")?.textContent === text,
  };
})();
