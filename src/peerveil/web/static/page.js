// What the page does by itself: send files, watch work, draw pictures that answer to the mouse. It asks this machine only.
"use strict";

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
// Vega's program has short names of its own at the top: no name here may be as short.
const beginning = document.documentElement.dataset.at; // of all addresses

// Files go as they are, into the private folder of the program that serves this page.
const send = async (address, body) => {
  const answer = await fetch(address, { method: "PUT", body });
  if (answer.ok) return answer.json();
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  throw new Error((one(".problem p", page) || one("p", page) || { textContent: "it could not be sent" }).textContent);
};

const addressFor = (drop, name) => {
  const role = drop.dataset.studyDrop;
  if (!role) return drop.dataset.address + encodeURIComponent(name);
  const study = one("[data-study]").value;
  return `${beginning}/researcher?role=${role}&study=${study}&name=${encodeURIComponent(name)}`;
};

const take = async (drop, file, name) => {
  const state = one(".drop-state", drop);
  state.classList.remove("bad");
  state.textContent = `Opening ${name} …`;
  try {
    const got = await send(addressFor(drop, name), file);
    if (got.study) one("[data-study]").value = got.study;
    if (got.next) { location.assign(got.next); return true; }
    state.textContent = got.name;
    return true;
  } catch (error) {
    state.classList.add("bad");
    state.textContent = error.message;
    return false;
  }
};

// One after the other: the first file of a study gives it its name.
let sending = Promise.resolve(true);
let waiting = 0;
const queue = (work) => {
  waiting += 1;
  sending = sending.then(work, work).finally(() => { waiting -= 1; });
  return sending;
};

for (const drop of all("[data-drop]")) {
  const input = one("input[type=file]", drop);
  input.addEventListener("change", () => {
    const file = input.files[0];
    if (file) queue(() => take(drop, file, file.name));
  });
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const file = event.dataTransfer.files[0];
    if (file) queue(() => take(drop, file, file.name));
  });
}
// A file that misses its place must not be opened in place of the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());

// Pasted numbers are sent like a file; a form waits for what is still on its way.
for (const form of all("form")) {
  form.addEventListener("submit", async (event) => {
    const paste = one("[data-paste]", form);
    const pasted = paste ? paste.value.trim() : "";
    const button = event.submitter;
    if (!pasted && !waiting) {
      setTimeout(() => { if (button) button.disabled = true; }, 0); // once is enough
      return;
    }
    event.preventDefault();
    let fine = true;
    if (pasted) {
      const drop = one(`[data-study-drop=${paste.dataset.paste}]`);
      fine = await queue(() => take(drop, new Blob([`${pasted}\n`]), "pasted.txt"));
      if (fine) paste.value = "";
    } else {
      fine = await sending;
    }
    if (fine) setTimeout(() => form.requestSubmit(button), 0); // not from within this event: it would be ignored
  });
}
addEventListener("pageshow", () => all("button").forEach((button) => { button.disabled = false; }));

// Parts of a form that only one answer needs.
const depend = () => {
  for (const part of all("[data-when]")) {
    const chosen = one(`input[name=${part.dataset.when}]:checked`);
    part.hidden = !chosen || chosen.value !== part.dataset.is;
  }
};
addEventListener("change", depend);
depend();

// What epsilon comes to.
const epsilon = one("#f-epsilon");
if (epsilon) {
  const factor = one("[data-factor]");
  const tell = () => {
    const value = Number(epsilon.value);
    const good = epsilon.value.trim() !== "" && Number.isFinite(value) && value > 0;
    const times = Math.exp(value);
    const shown = times >= 1e6 ? "more than a million" : Number((Math.ceil(times * 100) / 100).toPrecision(times < 100 ? 4 : 6));
    factor.textContent = good ? `odds change by at most ${shown} times` : "must be a number above 0";
  };
  epsilon.addEventListener("input", tell);
  for (const chip of all("[data-epsilon]")) {
    chip.addEventListener("click", () => { epsilon.value = chip.dataset.epsilon; tell(); epsilon.focus(); });
  }
  tell();
}

// Work that is under way.
const working = one("[data-work]");
if (working) {
  const watch = async () => {
    try {
      const state = await (await fetch(`${working.dataset.work}/state`)).json();
      if (state.state !== "running") { location.replace(working.dataset.work); return; }
      const step = one("[data-step]");
      if (step.textContent !== state.step) step.textContent = state.step;
      one("[data-seconds]").textContent = `${state.seconds} s`;
    } catch {
      one("[data-step]").textContent = "Peerveil does not answer. Was it ended?";
    }
    setTimeout(watch, 500);
  };
  setTimeout(watch, 300);
}

// Pictures: drawn already; where the program for it is there, they are drawn anew so that they answer to the mouse.
const recoloured = (part, colours) => {
  if (Array.isArray(part)) return part.map((inner) => recoloured(inner, colours));
  if (part && typeof part === "object") {
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, recoloured(inner, colours)]));
  }
  return typeof part === "string" && colours[part] ? colours[part] : part;
};

const pictures = one("[data-pictures]");
if (pictures) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const draw = async () => {
    if (!window.vegaEmbed) return;
    const specifications = await (await fetch(pictures.dataset.pictures)).json();
    const colours = dark.matches ? await (await fetch(`${beginning}/static/dark.json`)).json() : {};
    for (const place of all("[data-picture]")) {
      const plain = specifications[place.dataset.picture];
      if (!plain) continue;
      const canvas = document.createElement("div");
      const words = plain.description;
      const wide = place.closest(".wide");
      const width = Math.max(200, Math.min(wide ? 760 : 420, place.clientWidth - 80));
      try {
        await window.vegaEmbed(canvas, recoloured({ ...plain, width, height: wide ? 300 : plain.height }, colours), {
          mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true },
        });
      } catch {
        continue; // the picture that stands there stays
      }
      const svg = one("svg", canvas);
      for (const part of all("[role], [aria-roledescription]", svg)) {
        part.removeAttribute("role");
        part.removeAttribute("aria-roledescription");
      }
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", words);
      svg.removeAttribute("aria-roledescription");
      place.replaceChildren(canvas);
      place.dataset.live = "yes";
    }
  };
  addEventListener("load", draw);
  dark.addEventListener("change", draw);
}
