// The first section: what was measured, on what.

import {append, element} from './dom.js';
import * as formats from './formats.js';

const facts = [
  ['multiprocessors', 'multiprocessors'],
  ['memory_bytes', 'memory', formats.bytes],
  ['l2_bytes', 'L2 cache', formats.bytes],
  ['copy_gb_per_s', 'copy rate', value => formats.count(Math.round(value)), 'GB/s'],
  ['matrix_tflop_per_s', 'matrix products', formats.significant, 'TFLOP/s'],
  ['max_clock_mhz', 'clock, at most', null, 'MHz'],
  ['power_limit_watts', 'power cap', null, 'W'],
  ['ecc', 'ECC'],
  ['driver', 'driver'],
  ['toolkit', 'toolkit'],
  ['host_compiler', 'compiler'],
  ['peer', 'peers']
];

/** One value, the ends of a range of numbers, or all texts. */
function together(values, show, unit) {
  const texts = values.every(value => typeof value === 'number')
    ? [Math.min(...values), Math.max(...values)].map(show) : values.map(show);
  const numbers = typeof values[0] === 'number';
  const joined = Array.from(new Set(texts)).join(numbers ? '\u2013' : ', ');
  return unit ? `${joined} ${unit}` : joined;
}

/** What the files of one device say of it: [label, text]. */
export function factsOf(files) {
  const lines = [];
  for (const [key, label, show, unit] of facts) {
    const values = files.map(file => file.environment[key])
      .filter(value => value !== undefined && value !== '');
    if (values.length > 0) lines.push([label, together(values, show || String, unit)]);
  }
  return lines;
}

/** Files by the name of their device, in their order. */
export function byDevice(files) {
  const groups = new Map();
  for (const file of files) {
    const device = file.environment.device || file.environment.host || 'an unknown machine';
    if (!groups.has(device)) groups.set(device, []);
    groups.get(device).push(file);
  }
  return groups;
}

function commitOf({git_commit: commit, git_dirty: changed}) {
  return commit ? commit.slice(0, 10) + (changed ? ' with changes' : '') : '';
}

function fileLine(file) {
  const environment = file.environment;
  return element('tr', {}, element('td', {}, file.name),
    element('td', {class: 'number'}, formats.count(file.count)),
    element('td', {}, environment.started || ''), element('td', {}, commitOf(environment)),
    element('td', {}, element('code', {}, environment.command_line || '')),
    element('td', {}, file.notes.join('; ')));
}

function fileTable(files) {
  const noted = files.some(file => file.notes.length > 0);
  const heads = ['file', 'records', 'started (UTC)', 'commit', 'command', noted ? 'notes' : ''];
  return element('div', {class: 'wide'}, element('table', {class: 'plain'},
    element('thead', {}, element('tr', {}, heads.map(head =>
      element('th', {scope: 'col', class: head === 'records' ? 'number' : null}, head)))),
    element('tbody', {}, files.map(fileLine))));
}

export function machineSection(files) {
  const body = element('div', {});
  for (const [device, group] of byDevice(files)) {
    append(body, [element('div', {class: 'machine'}, element('h3', {}, device),
      element('dl', {class: 'facts'}, factsOf(group).map(([label, value]) =>
        element('div', {}, element('dt', {}, label), element('dd', {}, value)))),
      element('details', {}, element('summary', {}, `${formats.plural(
        group.reduce((sum, file) => sum + file.count, 0), 'record')} in ${formats.plural(
        group.length, 'file')}`), fileTable(group)))]);
  }
  if (files.length === 0) body.append(element('p', {class: 'empty'}, 'No file.'));
  return body;
}
