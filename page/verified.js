// The second section: is every result right? Failures come first, with what repeats them.

import {problemTitle} from './describe.js';
import {element} from './dom.js';
import {count, percent, plural} from './formats.js';
import {copyButton} from './panel.js';
import {isFailure, wasTried} from './rows.js';

/** What runs were to try and did not: {untried, endedBy: [text]}. */
export function untriedOf(files, rows) {
  const ended = new Set();
  let untried = 0;
  for (const {name, environment} of files) {
    const settled = rows.filter(row => row.file === name && row.status !== 'rejected').length;
    if (!(environment.candidates > settled)) continue;
    untried += environment.candidates - settled;
    if (environment.ended_by) ended.add(environment.ended_by);
  }
  return {untried, endedBy: [...ended]};
}

/** Of each variant the problems that it took, by operator, direction and dtype; those that it took
 * all of are left out: [{name, taken, problems}] */
export function sharesOf(rows) {
  const groups = new Map();
  for (const row of rows) {
    if (row.peer) continue;
    const name = `${row.variant} [${row.backend}] of ${row.operator} ${row.direction} ${row.dtype}`;
    if (!groups.has(name)) groups.set(name, new Map());
    const problems = groups.get(name);
    problems.set(row.problem, problems.get(row.problem) || row.status !== 'rejected');
  }
  return [...groups].map(([name, problems]) => ({name, problems: problems.size,
    taken: [...problems.values()].filter(taken => taken).length}))
    .filter(({problems, taken}) => taken < problems);
}

/** How many rows came to what. A peer's failures count apart: there is nothing to mend here. */
export function verdictOf(rows) {
  const ours = rows.filter(row => !row.peer);
  const tried = ours.filter(wasTried);
  const failures = tried.filter(isFailure);
  const right = tried.filter(row => !isFailure(row) && row.right === true).length;
  const having = status => ours.filter(row => row.status === status).length;
  return {
    tried: tried.length, right, failures,
    unverified: tried.length - right - failures.length,
    peers: rows.length - ours.length,
    peerFailures: rows.filter(row => row.peer && isFailure(row)),
    rejected: having('rejected'),
    leftOut: having('left_out'),
    suspect: ours.filter(row => row.suspect).length,
    stale: ours.filter(row => row.stale).length,
    throttled: ours.filter(row => row.throttled).length
  };
}

/** {kind: "good", "some", "bad" or "none", headline, asides: [text]} */
export function wordsOf(verdict) {
  const {tried, right, failures} = verdict;
  const asides = [];
  const aside = (number, text) => {
    if (number > 0) asides.push(text);
  };
  aside(failures.length && right, `${count(right)} verified against float64`);
  aside(verdict.unverified, `${count(verdict.unverified)} without a verdict`);
  aside(verdict.rejected, `${count(verdict.rejected)} refused, with a reason each`);
  aside(verdict.leftOut, `${count(verdict.leftOut)} left out by a search`);
  aside(verdict.suspect, plural(verdict.suspect, 'suspect time'));
  aside(verdict.throttled, `${count(verdict.throttled)} timed while throttled`);
  aside(verdict.stale, `${count(verdict.stale)} of other sources than the program's (stale)`);
  aside(verdict.peers, `${plural(verdict.peers, 'record')} of peers`);
  if (tried === 0) {
    const headline = verdict.peers > 0 ? 'Only peers were tried' : 'Nothing was tried';
    return {kind: 'none', headline, asides};
  }
  const candidates = plural(tried, 'candidate');
  if (failures.length > 0) {
    return {kind: 'bad', headline: `${plural(failures.length, 'failure')} among ${candidates}`,
      asides};
  }
  if (verdict.untried > 0) {
    const by = verdict.endedBy.length > 0 ? `: ended by ${verdict.endedBy.join(', ')}`
      : ', the run has not come to its end';
    asides.unshift(`${count(verdict.untried)} never tried${by}`);
  }
  if (right < tried || verdict.untried > 0) {
    const all = plural(tried + (verdict.untried || 0), 'candidate');
    return {kind: 'some', headline: `${count(right)} of ${all} verified`, asides};
  }
  const headline = tried === 1 ? 'The one candidate is verified against float64'
    : `All ${candidates} verified against float64`;
  return {kind: 'good', headline, asides};
}

function failureItem(row, open) {
  return element('li', {},
    element('button', {type: 'button', class: 'link', click: () => open(row)}, row.variant), ' ',
    element('span', {class: `status-${row.status}`}, row.status), ` on ${problemTitle(row)}`,
    row.tile_label && ` (${row.tile_label})`, row.check && `, check ${row.check}`,
    row.reason && element('p', {class: 'reason'}, row.reason),
    row.command && element('div', {class: 'repeat'}, element('code', {}, row.command),
      copyButton(() => row.command)));
}

const shown = 50;

function failureList(title, rows, open) {
  if (rows.length === 0) return null;
  const rest = rows.length - shown;
  return element('div', {class: 'failures'}, element('h3', {}, title),
    element('ul', {}, rows.slice(0, shown).map(row => failureItem(row, open))),
    rest > 0 && element('p', {}, `And ${count(rest)} more: search the records for a status.`));
}

function shareList(shares) {
  if (shares.length === 0) return null;
  const line = ({name, taken, problems}) =>
    element('li', {}, `took ${count(taken)} of ${plural(problems, 'problem')} (${
      percent(taken / problems)}): ${name}`);
  return element('details', {class: 'failures', id: 'shares'},
    element('summary', {}, `What was refused: ${
      plural(shares.length, 'variant that did not take all', 'variants that did not take all')}`),
    element('ul', {}, shares.map(line)));
}

export function verifiedSection(files, rows, open) {
  const verdict = Object.assign(verdictOf(rows), untriedOf(files, rows));
  const {kind, headline, asides} = wordsOf(verdict);
  return element('div', {},
    element('p', {class: `verdict verdict-${kind}`, id: 'verdict'}, headline),
    asides.length > 0 && element('p', {class: 'asides'}, asides.join(' \u00b7 ')),
    failureList('Failures', verdict.failures, open),
    failureList('Failures of peers, which the gate does not count', verdict.peerFailures, open),
    shareList(sharesOf(rows)));
}
