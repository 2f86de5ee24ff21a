// A record in words, for hovering and for its own panel. Pure functions.

import * as formats from './formats.js';
import {pairs} from './rows.js';

export function problemTitle(row) {
  const options = pairs(row.options);
  return [row.operator, row.direction, row.dtype, row.shape, `gate ${row.gate}`, options]
    .filter(text => text).join(' \u00b7 ');
}

function interval(row) {
  if (row.cold_half === null) return formats.duration(row.cold_ms);
  return `${formats.duration(row.cold_ms)} \u00b1 ${formats.percent(row.cold_half)}`;
}

function overFloor(value, row) {
  if (value === null || row.floor_bytes === null) return formats.bytes(value);
  return `${formats.bytes(value)} (${formats.factor(value / row.floor_bytes)} floor)`;
}

function share(row) {
  if (row.error === null) return formats.nothing;
  return `${formats.error(row.error)} of ${formats.error(row.bound)} allowed`;
}

function status(row) {
  const notes = [row.status];
  if (row.peer) notes.push('peer');
  if (row.suspect) notes.push('suspect');
  if (row.stale) notes.push('stale: its sources have changed since');
  if (row.throttled) notes.push('throttled');
  if (row.deterministic === false && !(row.peer && !row.manifest)) notes.push('bits vary');
  return notes.join(', ');
}

/** What a hover shows: [label, value] */
export function shortLines(row) {
  const lines = [['tile', row.tile_label], ['problem', problemTitle(row)], ['status', status(row)],
    ['reason', row.reason]];
  if (row.cold_ms !== null) {
    lines.push(['time', interval(row)],
      ['of the floor', row.of_floor === null ? null : formats.percent(row.of_floor)],
      ['rate', row.tflop_per_s === null ? null
        : `${formats.significant(row.tflop_per_s)} TFLOP/s`]);
  }
  lines.push(['held by', row.bound_by && `${row.bound_by}: ${row.bound_why}`],
    ['bytes moved', row.measured_bytes === null ? null : overFloor(row.measured_bytes, row)],
    ['workspace', row.workspace_bytes > 0 ? formats.bytes(row.workspace_bytes) : null],
    ['error', row.error === null ? null : share(row)]);
  return lines.filter(([, value]) => value !== null && value !== '' && value !== undefined);
}

function known(lines) {
  return lines.filter(([, value]) => value !== null && value !== undefined && value !== '' &&
    value !== formats.nothing);
}

/** All that is known of a record: [[heading, [[label, value]]]], without what is empty. */
export function fullLines(row) {
  const counters = row.counters || {};
  const groups = [
    ['Problem', [['operator', row.operator], ['direction', row.direction], ['dtype', row.dtype],
      ['layout', row.layout], ['shape', row.shape], ['gate', row.gate],
      ['options', pairs(row.options)], ['seed', row.seed],
      ['states', [row.initial_state ? 'initial' : '', row.final_state ? 'final' : '']
        .filter(text => text).join(', ')]]],
    ['Candidate', [['variant', row.variant], ['tile', row.tile_label],
      ['arithmetic', row.arithmetic], ['status', status(row)],
      ['reason', row.reason], ['failed check', row.check],
      ['refused tiles', row.refused_tiles], ['device', row.device], ['backend', row.backend],
      ['registers', row.registers], ['spilled', formats.bytes(row.spill_bytes)],
      ['shared memory', formats.bytes(row.shared_bytes)], ['source hash', row.source_hash],
      ['record', row.record]]],
    ['Time', [['cold caches', row.cold_ms === null ? null : interval(row)],
      ['hot caches', formats.duration(row.hot_ms)],
      ['sustained', formats.duration(row.sustained_ms)], ['samples', row.samples],
      ['floor', formats.duration(row.floor_ms)], ['of the floor', formats.percent(row.of_floor)],
      ['products', row.tflop_per_s === null ? null
        : `${formats.significant(row.tflop_per_s)} TFLOP/s`],
      ['held by', row.bound_by], ['because', row.bound_why],
      ['energy per call', formats.energy(row.joules)]]],
    ['Bytes', [['floor', formats.bytes(row.floor_bytes)],
      ['modelled', overFloor(row.model_bytes, row)],
      ['measured', overFloor(row.measured_bytes, row)],
      ['through the L2', formats.bytes(counters.l2_bytes)],
      ['workspace', formats.bytes(row.workspace_bytes)]]],
    ['Errors', row.tensors.map(tensor => [tensor.name,
      `${formats.error(tensor.error)} of ${formats.error(tensor.bound)} allowed`])],
    ['Stages', row.stages.map(stage => [stage.name,
      `${formats.duration(stage.ms)}, ${formats.bytes(stage.bytes)}`])]
  ];
  return groups.map(([heading, lines]) => [heading, known(lines)])
    .filter(([, lines]) => lines.length > 0);
}
