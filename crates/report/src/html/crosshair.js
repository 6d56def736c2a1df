// A crosshair: the values under the pointer, from the attributes of the pictures. Left and right move it, too. Pages are complete
// without it.
function crosshair(svg) {
  const numbers = svg.dataset.x.split(' ').map(Number);
  const [scale, from, to, left, right, top, bottom] = svg.dataset.axis.split(' ');
  const share = x => scale === 'log' ? Math.log(x / from) / Math.log(to / from) : (x - from) / (to - from);
  const places = numbers.map(x => +left + share(x) * (right - left));
  const curves = [...svg.querySelectorAll('[data-values]')].map(path => ({
    name: path.dataset.name, colour: path.classList[1], values: path.dataset.values.split(' '),
    unit: path.dataset.unit ?? svg.dataset.yUnit,
  }));
  const line = document.createElementNS(svg.namespaceURI, 'line');
  line.setAttribute('class', 'crosshair');
  line.setAttribute('y1', top);
  line.setAttribute('y2', bottom);
  const box = document.createElement('div');
  box.className = 'values';
  box.setAttribute('role', 'status');
  box.hidden = true;
  svg.parentNode.append(box);
  svg.tabIndex = 0;
  let at = -1;

  const two = number => String(Math.floor(number)).padStart(2, '0');
  const where = x => scale !== 'time' ? `${+x.toPrecision(3)} ${svg.dataset.unit}`
    : x < 3600 ? `${Math.floor(x / 60)}:${two(x % 60)} min` : `${Math.floor(x / 3600)}:${two(x / 60 % 60)}:${two(x % 60)} h`;
  const add = (kind, text, parent) => {
    const element = document.createElement(kind);
    element.textContent = text;
    return parent.appendChild(element);
  };
  const show = index => {
    at = Math.max(0, Math.min(places.length - 1, index));
    box.replaceChildren();
    add('b', where(numbers[at]), box);
    for (const { name, colour, values, unit } of curves) {
      if (values[at] === '-') continue;
      const row = add('span', `${name} `, box);
      row.className = colour;
      add('b', values[at], row);
      row.append(` ${unit}`);
    }
    line.setAttribute('x1', places[at]);
    line.setAttribute('x2', places[at]);
    svg.append(line);
    box.hidden = false;
    const frame = svg.getBoundingClientRect(), figure = svg.parentNode.getBoundingClientRect();
    const x = frame.left + places[at] * frame.width / svg.viewBox.baseVal.width;
    const isLeft = x < (frame.left + frame.right) / 2;
    const beside = x - figure.left + (isLeft ? 10 : -10 - box.offsetWidth);
    box.style.left = `${Math.max(0, Math.min(figure.width - box.offsetWidth, beside))}px`;
    box.style.top = `${frame.top - figure.top + frame.height * top / svg.viewBox.baseVal.height}px`;
  };
  const hide = () => { line.remove(); box.hidden = true; };

  svg.addEventListener('pointermove', event => {
    const frame = svg.getBoundingClientRect();
    const x = (event.clientX - frame.left) * svg.viewBox.baseVal.width / frame.width;
    let nearest = 0;
    places.forEach((place, index) => { if (Math.abs(place - x) < Math.abs(places[nearest] - x)) nearest = index; });
    show(nearest);
  });
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('blur', hide);
  svg.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { show(at + step); event.preventDefault(); }
    if (event.key === 'Escape') hide();
  });
}
document.querySelectorAll('svg[data-x]').forEach(crosshair);
