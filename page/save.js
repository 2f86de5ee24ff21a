// A figure as a file: SVG that needs no style sheet, or PNG drawn from that.

import {svgElement} from './dom.js';

/** What a drawing inherits, so that only a node that differs from its parent has to say it. */
const inherited = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray',
  'stroke-opacity', 'stroke-linecap', 'stroke-linejoin', 'font-family', 'font-size', 'font-weight',
  'font-style', 'text-anchor', 'dominant-baseline', 'letter-spacing', 'paint-order',
  'shape-rendering'];
const margin = 16;

/** What only the page needs: its classes, its keys, its names for those who do not see it. */
function strip(node) {
  for (const {name, value} of Array.from(node.attributes)) {
    if (/^(class|style|tabindex|role|aria-.*|data-.*|opacity)$/.test(name) ||
        inherited.includes(name)) {
      node.removeAttribute(name);
    } else if (/\.\d{3}/.test(value)) { // a hundredth of a pixel is enough
      node.setAttribute(name, value.replace(/\d*\.\d{3,}/g, number => +Number(number).toFixed(2)));
    }
  }
}

/** The looks of `from`, as they are computed, as attributes of its copy. */
function dress(from, to, parentStyle) {
  const style = getComputedStyle(from);
  strip(to);
  for (const name of inherited) {
    const value = style.getPropertyValue(name);
    if (!parentStyle || value !== parentStyle.getPropertyValue(name)) to.setAttribute(name, value);
  }
  if (style.opacity !== '1') to.setAttribute('opacity', style.opacity);
  Array.from(from.children).forEach((child, at) => {
    const copy = to.children[at];
    if (child.tagName === 'title' || child.tagName === 'desc') return;
    dress(child, copy, style);
    const hidden = getComputedStyle(child);
    if (hidden.display === 'none' || hidden.visibility === 'hidden') copy.setAttribute('drop', '');
  });
}

/** Of the file, in pixels: the drawing as it would be at its own scale, and a margin. */
function sizeOf(svg) {
  const box = svg.viewBox.baseVal;
  const own = box && box.width > 0 ? box : svg.getBoundingClientRect();
  return {width: Math.ceil(own.width) + 2 * margin, height: Math.ceil(own.height) + 2 * margin};
}

/** A copy of the drawing that stands by itself, on a ground of this colour. */
function standalone(svg, ground) {
  const copy = svg.cloneNode(true);
  dress(svg, copy, null);
  for (const node of copy.querySelectorAll('[drop]')) node.remove();
  const {width, height} = sizeOf(svg);
  for (const {name} of Array.from(copy.attributes)) {
    if (name !== 'xmlns' && !inherited.includes(name)) copy.removeAttribute(name);
  }
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  copy.setAttribute('role', 'img');
  copy.setAttribute('viewBox', `${-margin} ${-margin} ${width} ${height}`);
  copy.insertBefore(svgElement('rect', {x: -margin, y: -margin, width, height, fill: ground,
    stroke: 'none'}), copy.firstChild);
  return copy;
}

/** The drawing as the text of an SVG file. */
export function svgText(svg, ground) {
  return '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `${new XMLSerializer().serializeToString(standalone(svg, ground))}\n`;
}

/** The drawing as a PNG blob, `scale` pixels for one of the screen's. */
export function pngOf(svg, ground, scale = 2) {
  const {width, height} = sizeOf(svg);
  const url = URL.createObjectURL(new Blob([svgText(svg, ground)], {type: 'image/svg+xml'}));
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement('canvas');
      canvas.width = width * scale;
      canvas.height = height * scale;
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(blob => blob ? resolve(blob) : reject(new Error('no picture came out')),
        'image/png');
    };
    image.onerror = () => reject(new Error('the drawing cannot be read back'));
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
