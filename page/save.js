// A figure as a file: SVG with its styles inside, or PNG drawn from that.

const inherited = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray',
  'stroke-opacity', 'stroke-linecap', 'stroke-linejoin', 'opacity', 'font-family', 'font-size',
  'font-weight', 'font-style', 'text-anchor', 'dominant-baseline', 'letter-spacing', 'visibility',
  'display', 'paint-order', 'shape-rendering'];

/** The computed styles of a drawing as attributes of a copy that stands by itself. */
function standalone(svg, ground) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll('*')];
  const to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((node, at) => {
    const style = getComputedStyle(node);
    for (const name of inherited) {
      const value = style.getPropertyValue(name);
      if (value) to[at].setAttribute(name, value);
    }
    to[at].removeAttribute('class');
    to[at].removeAttribute('tabindex');
    to[at].removeAttribute('style');
  });
  const {width, height} = svg.getBoundingClientRect();
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  if (!copy.hasAttribute('viewBox')) copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const back = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  back.setAttribute('width', '100%');
  back.setAttribute('height', '100%');
  back.setAttribute('fill', ground);
  copy.insertBefore(back, copy.firstChild);
  return copy;
}

/** The drawing as the text of an SVG file. */
export function svgText(svg, ground) {
  return '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `${new XMLSerializer().serializeToString(standalone(svg, ground))}\n`;
}

/** The drawing as a PNG blob, `scale` pixels for one of the screen's. */
export function pngOf(svg, ground, scale = 2) {
  const {width, height} = svg.getBoundingClientRect();
  const url = URL.createObjectURL(new Blob([svgText(svg, ground)], {type: 'image/svg+xml'}));
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement('canvas');
      canvas.width = Math.ceil(width * scale);
      canvas.height = Math.ceil(height * scale);
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(blob => blob ? resolve(blob) : reject(new Error('no picture came out')),
        'image/png');
    };
    image.onerror = () => reject(new Error('the drawing can not be read back'));
    image.src = url;
  }).finally(() => URL.revokeObjectURL(url));
}

export function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export async function saveFigure(svg, name, kind, ground) {
  const blob = kind === 'png' ? await pngOf(svg, ground)
    : new Blob([svgText(svg, ground)], {type: 'image/svg+xml'});
  download(blob, `${name}.${kind}`);
}

/** Puts a text on the clipboard, also where a page from disk may not use the new interface. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (refused) {
    const area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('readonly', '');
    area.className = 'off-screen';
    (document.querySelector('dialog[open]') || document.body).append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
