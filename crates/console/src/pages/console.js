// Keeps a page true while its run goes on: what has changed is fetched, and takes the place of what it was. A part of the time is
// chosen by dragging over a picture. Pages are whole without it.
const page = { busy: false, again: false, shown: new Map() };

const parts = root => [...root.querySelectorAll('.bar > *, main > *')];
const keyed = root => new Map(parts(root).map((part, at) => [`${part.tagName} ${part.className} ${at}`, part]));

// Where the focus is within a part, as steps down from it.
const steps = (part, element) => {
  const way = [];
  for (let at = element; at !== part; at = at.parentNode) way.unshift([...at.parentNode.children].indexOf(at));
  return way;
};

// What was filled in stays, whatever the run does meanwhile.
const fields = root => [...root.querySelectorAll('input, select')].map(one =>
  one.type === 'radio' ? [`${one.name} ${one.value}`, 'checked', one] : [one.name, 'value', one]);

const replace = (old, fresh, keeps) => {
  if (keeps) {
    const filled = new Map(fields(old).map(([name, what, one]) => [name, one[what]]));
    for (const [name, what, one] of fields(fresh)) if (filled.has(name)) one[what] = filled.get(name);
  }
  const open = [...old.querySelectorAll('details')].map(one => one.open);
  const focused = old.contains(document.activeElement) ? steps(old, document.activeElement) : undefined;
  const scrolled = [...old.querySelectorAll('.scroll')].map(one => [one.scrollLeft, one.scrollTop]);
  old.replaceWith(fresh);
  [...fresh.querySelectorAll('details')].forEach((one, at) => { if (at < open.length) one.open = open[at]; });
  [...fresh.querySelectorAll('.scroll')].forEach((one, at) => {
    if (at < scrolled.length) [one.scrollLeft, one.scrollTop] = scrolled[at];
  });
  fresh.querySelectorAll('svg[data-x]').forEach(svg => { crosshair(svg); zoom(svg); });
  focused?.reduce((at, step) => at?.children[step], fresh)?.focus({ preventScroll: true });
};

const refresh = async (keeps = true) => {
  if (page.busy) { page.again = true; return; }
  page.busy = true;
  try {
    const answer = await fetch(location.href, { credentials: 'same-origin' });
    if (!answer.ok) throw new Error(answer.status === 404 ? 'This run is not there any more.' : await answer.text());
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const before = keyed(document), after = keyed(fresh);
    const isSame = [...before.keys()].join('\n') === [...after.keys()].join('\n');
    if (isSame) {
      for (const [key, part] of after) {
        const html = part.outerHTML;
        if ((page.shown.get(key) ?? before.get(key).outerHTML) !== html) replace(before.get(key), document.adoptNode(part), keeps);
        page.shown.set(key, html);
      }
    } else {
      for (const name of ['.bar', 'main']) {
        const old = document.querySelector(name), part = fresh.querySelector(name);
        if (old && part) replace(old, document.adoptNode(part), keeps);
      }
      page.shown = new Map([...keyed(document)].map(([key, part]) => [key, part.outerHTML]));
    }
    document.title = fresh.title;
    heard();
  } catch (error) {
    unheard(error.message);
  } finally {
    page.busy = false;
    if (page.again) { page.again = false; refresh(); }
  }
};

const heard = () => document.querySelectorAll('.unheard').forEach(one => { one.hidden = true; });
const unheard = why => document.querySelectorAll('.unheard').forEach(one => {
  one.hidden = false;
  one.dataset.said ??= one.textContent;
  one.textContent = why && why !== 'Failed to fetch' ? why : one.dataset.said;
});

// The choice of a part of the time.
const zoom = svg => {
  const [scale, from, to, left, right, top, bottom] = svg.dataset.axis.split(' ');
  const form = document.querySelector('.choice');
  if (scale !== 'time' || !form) return;
  const at = event => {
    const frame = svg.getBoundingClientRect();
    const x = (event.clientX - frame.left) * svg.viewBox.baseVal.width / frame.width;
    const share = Math.max(0, Math.min(1, (x - left) / (right - left)));
    return [+left + share * (right - left), +from + share * (to - from)];
  };
  let begin, mark;
  svg.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    begin = at(event);
    mark = document.createElementNS(svg.namespaceURI, 'rect');
    for (const [name, value] of [['class', 'chosen'], ['y', top], ['height', bottom - top], ['x', begin[0]], ['width', 0]])
      mark.setAttribute(name, value);
    svg.append(mark);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener('pointermove', event => {
    if (!begin) return;
    const [x] = at(event);
    mark.setAttribute('x', Math.min(x, begin[0]));
    mark.setAttribute('width', Math.abs(x - begin[0]));
  });
  const end = event => {
    if (!begin) return;
    const [[x, first], [y, last]] = [begin, at(event)];
    begin = undefined;
    mark.remove();
    if (event.type === 'pointercancel' || Math.abs(x - y) < 6) return;
    form.elements.from.value = `${Math.floor(Math.min(first, last))}s`;
    form.elements.to.value = `${Math.ceil(Math.max(first, last))}s`;
    show(form);
  };
  svg.addEventListener('pointerup', end);
  svg.addEventListener('pointercancel', end);
};

const show = form => {
  const chosen = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  history.pushState(null, '', `${location.pathname}?${chosen}`);
  refresh(false);
};

document.addEventListener('submit', event => {
  if (event.target.matches('.choice')) {
    event.preventDefault();
    show(event.target);
  }
});
addEventListener('popstate', () => refresh(false));
document.querySelectorAll('svg[data-x]').forEach(zoom);
for (const [key, part] of keyed(document)) page.shown.set(key, part.outerHTML);

const bar = document.querySelector('[data-events]');
if (bar) {
  const source = new EventSource(bar.dataset.events);
  for (const kind of ['sample', 'change']) source.addEventListener(kind, () => refresh());
  source.addEventListener('open', heard);
  source.addEventListener('error', () => unheard());
}
