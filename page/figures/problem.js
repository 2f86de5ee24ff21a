// What a row is a measurement of: which rows are of the same problem, which problems form a series
// over the length, and how to name them in few words. Pure functions.

import {dtype, extent} from './units.js';

const identity = [
  'operator', 'direction', 'dtype', 'layout', 'gate', 'initial_state', 'final_state', 'scale',
  'options', 'backend', 'device'
];
const keys = new WeakMap();

/** Options as "a=b" in the order of the alphabet; they come as an object or as text. */
function optionsOf(row) {
  const options = row.options || {};
  if (typeof options === 'string') return options.split(',').filter(Boolean);
  return Object.keys(options).sort().map(name => `${name}=${options[name]}`);
}

/** What a problem is, but for some of its extents. */
function keyWithout(row, left) {
  let text = '';
  for (const {name, value} of row.extents) if (!left.includes(name)) text += `${name}=${value}|`;
  for (const name of identity) {
    const value = name === 'options' ? optionsOf(row).join(',') : row[name];
    text += `${value === undefined || value === null ? '' : value}|`;
  }
  return text;
}

/** The same for two rows of one problem on one device, whatever the seed. */
export function problemKey(row) {
  let key = keys.get(row);
  if (key === undefined) {
    key = keyWithout(row, []);
    keys.set(row, key);
  }
  return key;
}

/** Which extent is a problem's length: {axis, name, value}; null where it has none. */
export function lengthOf(row) {
  const axis = ['columns', 'key_seq', 'seq'].find(name => row[name] > 0);
  if (!axis) return null;
  const {symbol, value} = row.extents.find(({name}) => name === axis);
  return {axis, name: symbol, value};
}

/** How many independent pieces of work: {name, value}, batch times heads, or rows of a softmax. */
export function widthOf(row) {
  if (row.columns > 0) return {name: 'rows', value: row.batch};
  if (row.sequences > 0) return {name: 'N·H', value: row.sequences * row.heads};
  if (row.batch > 0 && row.heads > 0) return {name: 'B·H', value: row.batch * row.heads};
  return row.batch > 0 ? {name: 'B', value: row.batch} : null;
}

/** The same for problems that differ in their length alone. */
export function familyKey(row) {
  const length = lengthOf(row);
  return keyWithout(row, length ? [length.axis] : []);
}

/** The same for problems that differ in length and in batch times heads alone. */
export function mapKey(row) {
  const length = lengthOf(row);
  const moving = ['batch', 'heads', 'key_heads', 'sequences'].concat(length ? [length.axis] : []);
  // How many heads of queries share one of keys decides what is read, their number does not.
  const shared = row.key_heads > 0 ? row.heads / row.key_heads : 0;
  return `${keyWithout(row, moving)}${shared}|${row.sequences > 0}`;
}

/** Extents as pairs [name, words]; neighbouring head dimensions of one size are one: "K=V=128". */
function extentParts(extents) {
  const parts = [];
  for (const {name, symbol, role, value} of extents) {
    const last = parts[parts.length - 1];
    if (last && role === 'head_dimension' && last.role === role && last.value === value) {
      last.symbols.push(symbol);
    } else {
      parts.push({name, role, value, symbols: [symbol]});
    }
  }
  return parts.map(({name, symbols, value}) => [name, `${symbols.join('=')}=${extent(value)}`]);
}

/**
 * A problem in words, as pairs [what, words] in the order of reading. "what" says which words two
 * problems have in common; defaults (seq_first, no initial state) are not mentioned.
 */
export function partsOf(row) {
  const parts =
    [['operator', row.operator], ['direction', row.direction], ['dtype', dtype(row.dtype)]];
  parts.push(...extentParts(row.extents));
  if (row.gate && row.gate !== 'none') parts.push(['gate', row.gate]);
  if (row.layout === 'head_first') parts.push(['layout', 'head first']);
  if (row.initial_state) parts.push(['initial_state', 'initial state']);
  if (row.final_state === false) parts.push(['final_state', 'no final state']);
  if (row.scale) parts.push(['scale', `scale=${row.scale}`]);
  for (const option of optionsOf(row)) {
    parts.push([`option ${option.split('=')[0]}`, option.replace(/=true$/, '').replace(/_/g, ' ')]);
  }
  if (row.backend === 'host') parts.push(['backend', 'host']);
  return parts;
}

/** The whole name of a row's problem. */
export function nameOf(row) { return partsOf(row).map(part => part[1]).join(' '); }

/**
 * Names for several problems: {common, each}. What all have in common is said once; one alone has
 * its whole name. `without`
 * names parts that stand elsewhere ("seq" on an axis).
 */
export function namesOf(rows, without) {
  const left = row => partsOf(row).filter(part => !(without || []).includes(part[0]));
  const lists = rows.map(left);
  if (rows.length === 1) return {common: '', each: [lists[0].map(part => part[1]).join(' ')]};
  const seen = new Map();
  for (const list of lists) {
    for (const [what, words] of list) {
      const id = `${what} ${words}`;
      seen.set(id, (seen.get(id) || 0) + 1);
    }
  }
  const shared = part => seen.get(`${part[0]} ${part[1]}`) === rows.length;
  const devices = new Set(rows.map(row => row.device));
  const of = list => list.filter(part => !shared(part)).map(part => part[1]);
  return {
    common: rows.length ? lists[0].filter(shared).map(part => part[1]).join(' ') : '',
    each: lists.map(
      (list, i) => of(list).concat(devices.size > 1 ? [String(rows[i].device)] : []).join(' '))
  };
}

/** Whole names of several problems, each its own, with the device where there are several. */
export function fullNamesOf(rows) {
  const devices = new Set(rows.map(row => row.device));
  return rows.map(row => nameOf(row) + (devices.size > 1 ? ` on ${row.device}` : ''));
}

/** A tile's axes and values, "chunk=64 stages=2"; "" without. */
export function tileName(tile) {
  if (!tile) return '';
  if (typeof tile === 'string') return tile.replace(/,/g, ' ');
  return Object.keys(tile).map(axis => `${axis}=${tile[axis]}`).join(' ');
}
