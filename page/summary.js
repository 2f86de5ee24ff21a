// The first sections: on what machine, is it right, who wins.

import {append, element, fill} from './dom.js';
import {problemTitle} from './describe.js';
import {copyButton} from './panel.js';
import {isFailure, wasTried} from './rows.js';
import {contests} from './winners.js';
import {colourOf} from './colours.js';
import * as formats from './formats.js';

const facts = [
  ['multiprocessors', 'multiprocessors', value => value],
  ['memory_bytes', 'memory', formats.bytes],
  ['l2_bytes', 'L2 cache', formats.bytes],
  ['copy_gb_per_s', 'copy rate', value => `${formats.count(Math.round(value))} GB/s`],
  ['matrix_tflop_per_s', 'matrix products', value => `${formats.significant(value)} TFLOP/s`],
  ['max_clock_mhz', 'clock, at most', value => `${value} MHz`],
  ['power_limit_watts', 'power cap', value => `${value} W`],
  ['ecc', 'ECC', value => value],
  ['driver', 'driver', value => value],
  ['toolkit', 'toolkit', value => value],
  ['host_compiler', 'compiler', value => value],
  ['peer', 'peers', value => value]
];

/** What the files of one device say of it: [label, text]; several values where they differ. */
export function factsOf(files) {
  const lines = [];
  for (const [key, label, show] of facts) {
    const values = new Set(files.map(file => file.environment[key])
      .filter(value => value !== undefined && value !== '').map(value => String(show(value))));
    if (values.size > 0) lines.push([label, [...values].join(', ')]);
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

function originOf(environment) {
  const commit = environment.git_commit ? environment.git_commit.slice(0, 10) +
    (environment.git_dirty ? ' with changes' : '') : '';
  return [environment.started, commit].filter(text => text);
}

function fileLine(file) {
  const [started, commit] = originOf(file.environment);
  return element('tr', {}, element('td', {title: file.environment.command_line}, file.name),
    element('td', {class: 'number'}, formats.count(file.count)),
    element('td', {}, started || ''), element('td', {}, commit || ''),
    element('td', {}, file.notes.join('; ')));
}

export function machineSection(files) {
  const body = element('div', {});
  for (const [device, group] of byDevice(files)) {
    append(body, [element('div', {class: 'machine'},
      element('h3', {}, device),
      element('dl', {class: 'facts'}, factsOf(group).map(([label, value]) =>
        element('div', {}, element('dt', {}, label), element('dd', {}, value)))),
      element('details', {}, element('summary', {}, `${group.length} result ` +
        (group.length === 1 ? 'file' : 'files')),
      element('div', {class: 'wide'}, element('table', {class: 'plain'}, element('thead', {},
        element('tr', {}, ['file', 'records', 'started (UTC)', 'commit', 'notes'].map(head =>
          element('th', {scope: 'col', class: head === 'records' ? 'number' : null}, head)))),
      element('tbody', {}, group.map(fileLine))))))]);
  }
  if (files.length === 0) body.append(element('p', {class: 'empty'}, 'No file.'));
  return body;
}

/** How many rows came to what. A peer's failures count apart: there is nothing to mend here. */
export function verdictOf(rows) {
  const ours = rows.filter(row => !row.peer);
  const tried = ours.filter(wasTried);
  const right = tried.filter(row => !isFailure(row) && row.right === true);
  const count = status => ours.filter(row => row.status === status).length;
  return {
    tried: tried.length,
    right: right.length,
    failures: tried.filter(isFailure),
    peerFailures: rows.filter(row => row.peer && isFailure(row)),
    peers: rows.filter(row => row.peer).length,
    unverified: tried.filter(row => !isFailure(row) && row.right !== true).length,
    rejected: count('rejected'),
    leftOut: count('left_out'),
    suspect: ours.filter(row => row.suspect).length,
    throttled: ours.filter(row => row.throttled).length
  };
}

function failureItem(row, open) {
  return element('li', {}, element('button', {type: 'button', class: 'link',
    click: () => open(row)}, row.variant), ' ',
  element('span', {class: `status-${row.status}`}, row.status), ` on ${problemTitle(row)}`,
  row.tile_label ? ` (${row.tile_label})` : '',
  row.reason && element('p', {class: 'reason'}, row.reason),
  row.command && element('div', {class: 'repeat'}, element('code', {}, row.command),
    copyButton(() => row.command)));
}

function plural(count, one, many = `${one}s`) {
  return `${formats.count(count)} ${count === 1 ? one : many}`;
}

const shownFailures = 50;

function failureList(title, rows, open) {
  if (rows.length === 0) return null;
  const rest = rows.length - shownFailures;
  return element('div', {class: 'failures'}, element('h3', {}, title),
    element('ul', {}, rows.slice(0, shownFailures).map(row => failureItem(row, open))),
    rest > 0 && element('p', {}, `And ${plural(rest, 'more', 'more')}: sort the table by status.`));
}

export function verifiedSection(rows, open) {
  const verdict = verdictOf(rows);
  const state = verdict.tried === 0 ? 'none' : verdict.failures.length > 0 ? 'bad'
    : verdict.unverified > 0 ? 'some' : 'good';
  const headline = {
    none: 'Nothing was tried',
    bad: `${plural(verdict.failures.length, 'failure')} among ` +
      plural(verdict.tried, 'candidate'),
    some: `${formats.count(verdict.right)} of ${plural(verdict.tried, 'candidate')} verified`,
    good: `All ${plural(verdict.tried, 'candidate')} verified against float64`
  }[state];
  const asides = [
    state === 'bad' && `${formats.count(verdict.right)} verified against float64`,
    verdict.unverified > 0 && `${formats.count(verdict.unverified)} built or run without a verdict`,
    verdict.rejected > 0 && `${formats.count(verdict.rejected)} combinations refused with a reason`,
    verdict.leftOut > 0 && `${formats.count(verdict.leftOut)} left out by a search`,
    verdict.suspect > 0 && `${plural(verdict.suspect, 'suspect time')}`,
    verdict.throttled > 0 && `${formats.count(verdict.throttled)} timed while throttled`,
    verdict.peers > 0 && `${plural(verdict.peers, 'record')} of peers`
  ].filter(text => text);
  return element('div', {},
    element('p', {class: `verdict verdict-${state}`, id: 'verdict'}, headline),
    asides.length > 0 && element('p', {class: 'asides'}, asides.join(' \u00b7 ')),
    failureList('Failures', verdict.failures, open),
    failureList('Failures of peers', verdict.peerFailures, open));
}

function swatch(variant, dark) {
  const node = element('span', {class: 'swatch'});
  node.style.background = colourOf(variant, dark);
  return node;
}

function rival(entry, dark) {
  if (!entry) return [formats.nothing];
  return [swatch(entry.row.variant, dark), entry.row.variant, ' ',
    element('b', {}, entry.tied ? 'tied' : formats.factor(entry.over))];
}

function winnerLine(contest, options) {
  const {row, next, peer} = contest;
  const problem = element('button', {type: 'button', class: 'link', title: 'Show this shape alone',
    click: () => options.choose(row)}, row.shape);
  const also = [options.mixed ? `${row.operator} ${row.direction} ${row.dtype}` : '',
    `gate ${row.gate}`, Object.entries(row.options).map(pair => pair.join('=')).join(' ')]
    .filter(text => text).join(' \u00b7 ');
  return element('tr', {},
    element('td', {}, problem, element('span', {class: 'also'}, also)),
    element('td', {}, swatch(row.variant, options.dark), element('button', {type: 'button',
      class: 'link', click: () => options.open(row)}, row.variant),
    element('span', {class: 'also'}, row.tile_label)),
    element('td', {class: 'number'}, formats.duration(row.cold_ms)),
    element('td', {class: 'number'}, formats.percent(row.of_floor)),
    element('td', {}, rival(next, options.dark)), element('td', {}, rival(peer, options.dark)));
}

function sentenceOf(next) {
  if (!next) return 'No other variant was right and timed. ';
  if (next.tied) return `It can not be told apart from ${next.row.variant}. `;
  return `The next, ${next.row.variant}, takes ${formats.factor(next.over)} its time. `;
}

/** The one problem that is left, in sentences. */
function answer(contest, options) {
  const {row, next, peer} = contest;
  return element('div', {class: 'answer', id: 'answer'},
    element('p', {class: 'answer-problem'}, problemTitle(row)),
    element('p', {class: 'answer-winner'}, swatch(row.variant, options.dark),
      element('button', {type: 'button', class: 'link', click: () => options.open(row)},
        row.variant), ` takes ${formats.duration(row.cold_ms)}`,
      row.of_floor !== null && `, ${formats.percent(row.of_floor)} of the floor`),
    element('p', {}, row.tile_label && `Tile ${row.tile_label}. `, sentenceOf(next),
      peer && `The fastest peer, ${peer.row.variant}, takes ${formats.factor(peer.over)} that.`));
}

const shownWinners = 12;

/**
 * The winner of each problem that the filters leave. `options`: {dark, open(row), choose(row),
 * all: every line is shown, more(): asks for that}
 */
export function winnersSection(rows, options) {
  const list = contests(rows);
  if (list.length === 0) {
    return element('p', {class: 'empty'}, 'Nothing that the filters leave was right and timed.');
  }
  if (list.length === 1) return answer(list[0], options);
  const mixed = new Set(list.map(({row}) => `${row.operator} ${row.direction} ${row.dtype}`));
  const shown = options.all ? list : list.slice(0, shownWinners);
  const body = element('tbody', {}, shown.map(contest =>
    winnerLine(contest, Object.assign({mixed: mixed.size > 1}, options))));
  const table = element('table', {class: 'plain winners'}, element('thead', {},
    element('tr', {}, [['problem'], ['fastest'], ['time', 'number'], ['of floor', 'number'],
      ['next'], ['best peer']].map(([text, kind]) =>
      element('th', {scope: 'col', class: kind}, text)))), body);
  return fill(element('div', {class: 'wide'}), table, list.length > shown.length &&
    element('button', {type: 'button', class: 'more', click: options.more},
      `Show all ${formats.count(list.length)} problems`));
}
