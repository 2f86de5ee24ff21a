// What the reader chose <-> the fragment of the page's address. Pure functions.

/** What rows are filtered by, in the order of the page. */
export const facets = ['operator', 'direction', 'dtype', 'shape', 'gate', 'device', 'variant'];

const lists = new Set(facets);

/** Nothing chosen: every record. */
export function everything() {
  const filters = {};
  for (const facet of facets) filters[facet] = [];
  return {filters, search: '', sort: {key: 'cold_ms', descending: false}, view: '', theme: '',
    picks: {}};
}

/**
 * Where a reader begins: one operator, direction and dtype, since times of different ones say
 * nothing of one another. gla, forward and bfloat16 where there are records of it, else what has
 * most records.
 */
export function firstState(rows) {
  const state = everything();
  let left = rows;
  for (const [facet, liked] of [['operator', 'gla'], ['direction', 'forward'],
    ['dtype', 'bfloat16']]) {
    const counts = countBy(left, facet);
    if (counts.size === 0) return state;
    const most = [...counts].reduce((best, entry) => entry[1] > best[1] ? entry : best)[0];
    const value = counts.has(liked) ? liked : most;
    if (counts.size > 1) state.filters[facet] = [value];
    left = left.filter(row => row[facet] === value);
  }
  return state;
}

/** The state with what was picked in a figure, {name: value}: "tiles.variant=chunk_sm90". */
export function picked(state, figure, values) {
  const picks = Object.assign({}, state.picks);
  for (const name of Object.keys(values)) picks[`${figure}.${name}`] = values[name];
  return Object.assign({}, state, {picks});
}

/** The state with other filters: figures begin at their first page again. */
export function refiltered(state, filters) {
  const picks = Object.assign({}, state.picks);
  for (const key of Object.keys(picks)) if (key.endsWith('.page')) delete picks[key];
  return Object.assign({}, state, {picks, filters: Object.assign({}, state.filters, filters)});
}

/** How many rows have each value of a field, in the order of their first rows. */
export function countBy(rows, field) {
  const counts = new Map();
  for (const row of rows) counts.set(row[field], (counts.get(row[field]) || 0) + 1);
  return counts;
}

/**
 * The fragment without "#": "operator=gla&sort=-cold_ms&tiles.variant=chunk_fused". A state that
 * chooses nothing is "all", since an empty fragment means the first state.
 */
export function toFragment(state) {
  const parts = [];
  const put = (key, value) => parts.push(`${key}=${encodeURIComponent(value)}`);
  for (const facet of facets) for (const value of state.filters[facet]) put(facet, value);
  if (state.search) put('search', state.search);
  const plain = everything();
  if (state.sort.key !== plain.sort.key || state.sort.descending !== plain.sort.descending) {
    put('sort', (state.sort.descending ? '-' : '') + state.sort.key);
  }
  if (state.view) put('view', state.view);
  const picks = Object.keys(state.picks).filter(key => state.picks[key]);
  for (const key of picks) put(key, state.picks[key]);
  if (state.theme) put('theme', state.theme);
  return parts.length ? parts.join('&') : 'all';
}

function decoded(text) {
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '));
  } catch (error) {
    return null; // a broken escape: as if it were not there
  }
}

/** The other way; what is not understood is left out. An empty fragment is `first`. */
export function fromFragment(fragment, first) {
  const text = fragment.replace(/^#/, '');
  if (text === '') return first;
  const state = everything();
  for (const part of text.split('&')) {
    const at = part.indexOf('=');
    const [key, value] = [part.slice(0, Math.max(at, 0)), decoded(part.slice(at + 1))];
    if (at < 0 || value === null) continue;
    if (lists.has(key)) {
      if (!state.filters[key].includes(value)) state.filters[key].push(value);
    } else if (key === 'search' || key === 'view') {
      state[key] = value;
    } else if (/^\w+\.\w+$/.test(key)) {
      state.picks[key] = value;
    } else if (key === 'sort' && value !== '' && value !== '-') {
      state.sort = {key: value.replace(/^-/, ''), descending: value[0] === '-'};
    } else if (key === 'theme' && (value === 'dark' || value === 'light')) {
      state.theme = value;
    }
  }
  return state;
}

/** The rows that fit all filters but that of `except`: what a facet offers. */
export function filtered(rows, filters, except = '') {
  const active = facets.filter(facet => facet !== except && filters[facet].length > 0)
    .map(facet => [facet, new Set(filters[facet])]);
  if (active.length === 0) return rows;
  return rows.filter(row => active.every(([facet, values]) => values.has(row[facet])));
}

/**
 * The extents of a shape by its label, as a list of numbers in the order in which people look for
 * one: amounts, such as the length, first.
 */
function sizesOf(rows) {
  const shapes = new Map(rows.map(row => [row.shape, row.extents]));
  const roles = new Map();
  for (const extents of shapes.values()) for (const {name, role} of extents) roles.set(name, role);
  const isOther = name => roles.get(name) !== 'amount';
  const names = [...roles.keys()].sort((a, b) => isOther(a) - isOther(b));
  return label => {
    const found = new Map((shapes.get(label) || []).map(({name, value}) => [name, value]));
    return names.map(name => found.get(name) || 0);
  };
}

/** Values as a list has them: shapes by their sizes, others by the alphabet. */
function inOrder(facet, rows) {
  if (facet !== 'shape') return (a, b) => a.value < b.value ? -1 : 1;
  const sizes = sizesOf(rows);
  return (a, b) => {
    const [x, y] = [sizes(a.value), sizes(b.value)];
    const at = x.findIndex((size, i) => size !== y[i]);
    return at < 0 ? (a.value < b.value ? -1 : 1) : x[at] - y[at];
  };
}

/** The values that a facet offers with how many rows each would leave; chosen ones stay, with 0. */
export function offers(rows, filters, facet) {
  const counts = countBy(filtered(rows, filters, facet), facet);
  for (const value of filters[facet]) if (!counts.has(value)) counts.set(value, 0);
  return [...counts].map(([value, count]) => ({value, count})).sort(inOrder(facet, rows));
}

/** The state with a value of a facet chosen, or not any more. */
export function toggled(state, facet, value) {
  const old = state.filters[facet];
  const values = old.includes(value) ? old.filter(other => other !== value) : [...old, value];
  return refiltered(state, {[facet]: values});
}
