// A variant's mark beside its name: colour and symbol, as in the figures.

import {symbol, symbols} from 'd3';
import {colourOf, symbolOf} from './colours.js';
import {svgElement} from './dom.js';

/** `size` in pixels. */
export function swatch(variant, dark, size = 12) {
  const svg = svgElement('svg', {class: 'swatch', width: size, height: size,
    viewBox: '-7 -7 14 14', 'aria-hidden': 'true'});
  svg.append(svgElement('path', {d: symbol().type(symbols[symbolOf(variant)]).size(64)(),
    fill: colourOf(variant, dark)}));
  return svg;
}
