// Uploads, progress, and interactive charts. All requests go to this machine.
"use strict";

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
// The Vega script defines global names of one or two letters: none here may be as short.
const prefix = document.documentElement.dataset.at; // of all addresses

// How long to wait for an answer, in milliseconds: to a question about progress, and to an upload.
const shortly = 10_000;
const patiently = 300_000;
const silent = "Peerveil does not respond. Was it ended?";

const send = async (address, body) => {
  const put = () => fetch(address, { method: "PUT", body, signal: AbortSignal.timeout(patiently) });
  const again = () => put().catch(() => { throw new Error(`${silent} If not, choose the file again.`); });
  const response = await put().catch(again); // a connection may be closed just when it is used again
  if (response.ok) return response.json();
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  throw new Error((one(".problem p", page) || one("p", page) || { textContent: "the upload failed" }).textContent);
};

const addressFor = (drop, name, together) => {
  const role = drop.dataset.studyDrop;
  if (!role) return drop.dataset.address + encodeURIComponent(name) + together;
  const study = one("[data-study]").value;
  return `${prefix}/researcher?role=${role}&study=${study}&name=${encodeURIComponent(name)}${together}`;
};

// The study that a file began is in the address from then on, so that going back finds its files. Releases to compare
// are listed on a page of their own.
const keep = (study) => {
  const held = one("[data-study]");
  held.value = study;
  if (held.dataset.study) history.replaceState(null, "", held.dataset.study + study);
};

const upload = async (drop, file, name, together = "&first=1") => {
  const state = one(".drop-state", drop);
  state.classList.remove("bad");
  state.textContent = `Opening ${name} …`;
  try {
    const saved = await send(addressFor(drop, name, together), file);
    if (saved.study) keep(saved.study);
    if (saved.next) { location.assign(saved.next); return true; }
    state.textContent = saved.role && saved.role !== drop.dataset.studyDrop ? "" : saved.name;
    const other = saved.role && one(`[data-study-drop=${saved.role}] .drop-state`);
    if (other) other.textContent = saved.published && saved.role === "noisy" ? "release.json" : saved.name;
    if (saved.columns) one("#columns").replaceChildren(...saved.columns.map((name) => new Option("", name)));
    all("[aria-invalid]", drop).forEach((part) => part.removeAttribute("aria-invalid"));
    all(".error", drop).forEach((part) => part.remove());
    const form = drop.closest("form");
    if (form && "published" in form.dataset) form.dataset.published = saved.published ? "yes" : "";
    return true;
  } catch (error) {
    state.classList.add("bad");
    state.textContent = error.message;
    return false;
  }
};

// One upload at a time: the first file of a study creates it.
let sending = Promise.resolve(true);
let waiting = 0;
const queue = (work) => {
  waiting += 1;
  sending = sending.then(work, work).finally(() => { waiting -= 1; });
  return sending;
};

// The files in a dropped folder, each named with its folder.
const within = async (entry) => {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => { entry.file(done, fail); });
    return [[entry.fullPath.slice(1), file]];
  }
  const reader = entry.createReader();
  const entries = [];
  for (;;) {
    const some = await new Promise((done, fail) => { reader.readEntries(done, fail); });
    if (!some.length) break;
    entries.push(...some);
  }
  return (await Promise.all(entries.map(within))).flat();
};
const dropped = async (transfer) => {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry());
  if (entries.every(Boolean)) return (await Promise.all(entries.map(within))).flat();
  return [...transfer.files].map((file) => [file.name, file]);
};

// Whether the page was opened anew: files that a browser restores in a form were uploaded before.
const fresh = performance.getEntriesByType("navigation").every((entry) => entry.type === "navigate");

for (const drop of all("[data-drop]")) {
  const input = one("input[type=file]", drop);
  const start = async (files) => {
    const alone = input.multiple ? files : files.slice(0, 1);
    // A release comes first, so that what lies beside it is known to belong to it.
    const order = alone.sort(([one], [other]) => /\.(json|zip)$/.test(other) - /\.(json|zip)$/.test(one));
    const several = order.length > 1 ? "&several=1" : "";
    const sent = order.map(([name, file], place) => (
      queue(() => upload(drop, file, name, several + (place ? "" : "&first=1")))
    ));
    const done = await Promise.all(sent);
    if (drop.dataset.studyDrop === "releases" && done.every(Boolean)) {
      location.assign(`${prefix}/compare/${one("[data-study]").value}`); // lists them with their titles
    }
  };
  const chosen = () => start([...input.files].map((file) => [file.name, file]));
  input.addEventListener("change", chosen);
  if (fresh && input.files.length) chosen(); // before this script was loaded
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    dropped(event.dataTransfer).then(start);
  });
}
// A file that is dropped elsewhere must not replace the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());

// Pasted numbers are uploaded like a file; a form waits for uploads.
for (const form of all("form")) {
  form.addEventListener("submit", async (event) => {
    const paste = one("[data-paste]", form);
    const pasted = paste ? paste.value.trim() : "";
    const button = event.submitter;
    if (!pasted && !waiting) {
      setTimeout(() => { if (button) button.disabled = true; }, 0); // submit once
      return;
    }
    event.preventDefault();
    if (pasted) {
      const drop = one(`[data-study-drop=${paste.dataset.paste}]`);
      if (await queue(() => upload(drop, new Blob([`${pasted}\n`]), "pasted.txt"))) paste.value = "";
    } else {
      await sending;
    }
    const failed = one(".drop-state.bad", form);
    if (failed) one("input", failed.closest("[data-drop]")).focus(); // the reason stands there
    else setTimeout(() => form.requestSubmit(button), 0); // within this event it would be ignored
  });
}
addEventListener("pageshow", () => all("button").forEach((button) => { button.disabled = false; }));

// Show the parts of a form that belong to the chosen answer.
const depend = () => {
  for (const part of all("[data-when]")) {
    const chosen = one(`input[name=${part.dataset.when}]:checked`);
    part.hidden = !chosen || !part.dataset.is.split(" ").includes(chosen.value);
  }
};
addEventListener("change", depend);
depend();

// What makes a step too tall for a phone is folded there. Wide screens show it, without a summary.
const narrow = matchMedia("(max-width: 34rem)");
const fold = () => { for (const part of all("[data-fold]")) part.open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();

// Move to the field that a problem is about, and show it where it is folded away.
const invalid = one("[aria-invalid=true]");
if (invalid) {
  for (let part = invalid.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  const target = invalid.matches("fieldset") ? one("input:checked, input", invalid) : invalid;
  target.focus();
  const [summary, message] = [one(".problem[role=alert]"), one(".error")];
  if (summary && message && document.activeElement === target) { // the message stands at the field: once is enough
    message.setAttribute("role", "alert");
    summary.remove();
  }
}

// Show the factor e^epsilon.
const epsilon = one("#f-epsilon");
const factor = one("[data-factor]");
if (epsilon && factor) {
  const show = () => {
    const value = Number(epsilon.value);
    const valid = epsilon.value.trim() !== "" && Number.isFinite(value) && value > 0;
    const times = Math.exp(value);
    const shown = times >= 1e6 ? "more than a million" : Number((Math.ceil(times * 100) / 100).toPrecision(times < 100 ? 4 : 6));
    factor.textContent = valid ? `odds change by at most ${shown}\u00a0times` : "must be a number above 0";
  };
  epsilon.addEventListener("input", show);
  for (const chip of all("[data-epsilon]")) {
    chip.addEventListener("click", () => { epsilon.value = chip.dataset.epsilon; show(); epsilon.focus(); });
  }
  show();
}

// Show the progress of a job.
const working = one("[data-work]");
if (working) {
  const watch = async () => {
    let pause = 500;
    try {
      const answer = await fetch(`${working.dataset.work}/state`, { signal: AbortSignal.timeout(shortly) });
      const state = await answer.json();
      if (state.state !== "running") {
        location.replace(working.dataset.work);
        pause = shortly; // once more if this page is still here
      }
      const step = one("[data-step]");
      if (step.textContent !== state.step) step.textContent = state.step;
      one("[data-seconds]").textContent = `${state.seconds}\u00a0s`;
    } catch {
      one("[data-step]").textContent = silent;
    }
    setTimeout(watch, pause);
  };
  setTimeout(watch, 300);
}

// Replace static charts by interactive ones, if the Vega script has loaded.
const recoloured = (part, colours) => {
  if (Array.isArray(part)) return part.map((inner) => recoloured(inner, colours));
  if (part && typeof part === "object") {
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, recoloured(inner, colours)]));
  }
  return typeof part === "string" && colours[part] ? colours[part] : part;
};

// Below this width, titles would not fit: the static chart stays, which is scaled. Folded charts may have no width.
const leastWidth = 380;

const pictures = one("[data-pictures]");
if (pictures) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let latest = 0; // colours may change while charts are drawn
  const draw = async () => {
    if (!window.vegaEmbed) return;
    const turn = ++latest;
    const specifications = await (await fetch(pictures.dataset.pictures)).json();
    const colours = dark.matches ? await (await fetch(`${prefix}/static/dark.json`)).json() : {};
    for (const place of all("[data-picture]")) {
      const plain = specifications[place.dataset.picture];
      if (!plain || place.clientWidth < leastWidth) continue;
      const canvas = document.createElement("div");
      const wide = place.closest(".wide");
      const width = Math.max(200, Math.min(wide ? 760 : 420, place.clientWidth - 80));
      try {
        await window.vegaEmbed(canvas, recoloured({ ...plain, width, height: wide ? 300 : plain.height }, colours), {
          mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true },
        });
      } catch {
        continue; // keep the static chart
      }
      const svg = one("svg", canvas);
      for (const part of all("[role], [aria-roledescription]", svg)) {
        part.removeAttribute("role");
        part.removeAttribute("aria-roledescription");
      }
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", plain.description);
      svg.removeAttribute("aria-roledescription");
      if (turn !== latest) return;
      let still = one(".still", place); // for paper
      if (!still) {
        still = document.createElement("div");
        still.className = "still";
        still.append(...place.childNodes);
      }
      canvas.classList.add("live");
      place.replaceChildren(canvas, still);
      place.dataset.live = "yes";
    }
  };
  addEventListener("load", draw);
  dark.addEventListener("change", draw);
  addEventListener("toggle", draw, true);
}
