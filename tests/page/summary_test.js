// The first sections in numbers and words: machine, verified, winners.

import assert from 'node:assert';
import test from 'node:test';
import {contests} from '../../page/figures/contest.js';
import {byDevice, factsOf} from '../../page/machine.js';
import {sharesOf, untriedOf, verdictOf, wordsOf} from '../../page/verified.js';
import {answerOf} from '../../page/winners.js';
import {decided} from './decided.js';

const file = (device, facts = {}) => ({name: 'r', environment: Object.assign({device}, facts)});
const row = (status, right, more = {}) => Object.assign({status, right, extents: [], peer: false,
  suspect: false, throttled: false}, more);

test('facts of several files are a range, or all there are', () => {
  const facts = new Map(factsOf([file('a', {copy_gb_per_s: 4243.2, driver: '1'}),
    file('a', {copy_gb_per_s: 4269.9, driver: '2'}), file('a', {driver: '1'})]));
  assert.strictEqual(facts.get('copy rate'), '4,243\u20134,270 GB/s');
  assert.strictEqual(facts.get('driver'), '1, 2');
  assert.deepStrictEqual(factsOf([file('a', {power_limit_watts: 700})]), [['power cap', '700 W']]);
  assert.deepStrictEqual(factsOf([file('a')]), []);
});

test('files stand by their device', () => {
  const groups = byDevice([file('a'), file('b'), file('a'), {environment: {host: 'h'}}]);
  assert.deepStrictEqual([...groups].map(([device, files]) => [device, files.length]),
    [['a', 2], ['b', 1], ['h', 1]]);
});

test('everything right is good', () => {
  const words = wordsOf(verdictOf([row('measured', true), row('verified', true),
    row('rejected', null), row('measured', true, {throttled: true})]));
  assert.strictEqual(words.kind, 'good');
  assert.strictEqual(words.headline, 'All 3 candidates verified against float64');
  assert.deepStrictEqual(words.asides,
    ['1 refused, with a reason each', '1 timed while throttled']);
});

test('one failure is enough to be bad, and is counted', () => {
  const verdict = verdictOf([row('measured', true), row('wrong', false), row('crashed', null)]);
  assert.strictEqual(verdict.failures.length, 2);
  const words = wordsOf(verdict);
  assert.strictEqual(words.kind, 'bad');
  assert.strictEqual(words.headline, '2 failures among 3 candidates');
  assert.deepStrictEqual(words.asides, ['1 verified against float64']);
});

test('what was only built is no verdict', () => {
  const words = wordsOf(verdictOf([row('measured', true), row('built', null)]));
  assert.strictEqual(words.kind, 'some');
  assert.strictEqual(words.headline, '1 of 2 candidates verified');
  assert.strictEqual(wordsOf(verdictOf([row('rejected', null)])).headline, 'Nothing was tried');
  const peers = verdictOf([row('measured', true, {peer: true})]);
  assert.strictEqual(wordsOf(peers).headline, 'Only peers were tried');
});

test('a run that was ended early is not all right', () => {
  const rows = [row('measured', true, {file: 'r'}), row('rejected', null, {file: 'r'})];
  const ended = file('a', {candidates: 12, ended_by: 'SIGINT (Interrupt)'});
  const untried = untriedOf([ended], rows);
  assert.deepStrictEqual(untried, {untried: 11, endedBy: ['SIGINT (Interrupt)']});
  const words = wordsOf(Object.assign(verdictOf(rows), untried));
  assert.strictEqual(words.kind, 'some');
  assert.strictEqual(words.headline, '1 of 12 candidates verified');
  assert.strictEqual(words.asides[0], '11 never tried: ended by SIGINT (Interrupt)');
  assert.strictEqual(untriedOf([file('a', {candidates: 1}), file('b')], rows).untried, 0);
});

test('rows of other sources are told', () => {
  const words = wordsOf(verdictOf([row('measured', true, {stale: true}), row('measured', true)]));
  assert.deepStrictEqual(words.asides, ["1 of other sources than the program's (stale)"]);
});

test('what a variant refused is a share of its problems', () => {
  const of = (status, problem, more = {}) => row(status, null, Object.assign({variant: 'v',
    backend: 'cuda', operator: 'gla', direction: 'forward', dtype: 'bfloat16', problem}, more));
  const rows = [of('measured', 1), of('rejected', 1), of('rejected', 2), of('wrong', 3),
    of('rejected', 1, {dtype: 'float16', peer: true}), of('measured', 1, {variant: 'all'})];
  assert.deepStrictEqual(sharesOf(rows),
    [{name: 'v [cuda] of gla forward bfloat16', problems: 3, taken: 2}]);
});

test('a failure of a peer is no failure of ours', () => {
  const verdict = verdictOf([row('measured', true), row('timeout', null, {peer: true})]);
  assert.strictEqual(wordsOf(verdict).kind, 'good');
  assert.strictEqual(verdict.peerFailures.length, 1);
  assert.strictEqual(verdict.tried, 1);
});

test('the answer has the winner, the next that can be told from it, and the peer', () => {
  const timed = (variant, cold_ms, more = {}) => row('measured', true, Object.assign({operator:
    'gla', variant, cold_ms, cold_low: cold_ms * 0.99, cold_high: cold_ms * 1.01, floor_ms: 0.5,
  file: 'r', id: cold_ms}, more));
  const [contest] = contests(decided([timed('slow', 3), timed('fast', 1), timed('fast', 2),
    timed('near', 1.005), timed('p.f', 0.8, {peer: true}),
    timed('liar', 0.1, {suspect: true}), row('wrong', false, {operator: 'gla', cold_ms: 0.2})]));
  const answer = answerOf(contest);
  assert.strictEqual(answer.row.variant, 'fast');
  assert.strictEqual(answer.ofFloor, 0.5);
  assert.deepStrictEqual(answer.tied.map(({variant}) => variant), ['near']);
  assert.strictEqual(answer.next.row.variant, 'slow');
  assert.strictEqual(answer.next.over, 3);
  assert.strictEqual(answer.peer.over, 0.8);
});
