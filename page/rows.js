// The data of a page (harness/report/page/data.cpp) -> rows: plain objects, null where there is nothing.

/** "1*2,,2" -> ["1", "1", "", "2"]: the cells that packed_cells() joined. */
export function unpack(text, count) {
  const cells = new Array(count);
  let at = 0;
  if (count > 0) {
    for (const part of text.split(',')) {
      const star = part.indexOf('*');
      if (star < 0) {
        cells[at++] = part;
      } else {
        const cell = part.slice(0, star);
        for (let left = Number(part.slice(star + 1)); left > 0; --left) cells[at++] = cell;
      }
    }
  }
  if (at !== count) throw new Error(`a column holds ${at} cells, expected ${count}`);
  return cells;
}

function number(cell) {
  if (cell === '') return null;
  if (cell === 'nan') return NaN;
  if (cell === 'inf') return Infinity;
  return cell === '-inf' ? -Infinity : Number(cell);
}

/** The different texts of a column: patterns with a number for each "#". */
function textsOf(column) {
  const patterns = column.patterns.map(pattern => pattern.split('#'));
  return (column.of === '' ? [] : column.of.split(',')).map(cell => {
    const [place, ...numbers] = cell.split(' ');
    const parts = patterns[Number(place)];
    return parts.slice(1).reduce((text, part, at) => text + numbers[at] + part, parts[0]);
  });
}

/** A column by name as a function of a row's place; of one that is not there, always null. */
function reader(columns, count) {
  return (name, convert = value => value) => {
    const column = columns[name];
    if (column === undefined) return () => null;
    if (typeof column === 'string') {
      const cells = unpack(column, count);
      return at => number(cells[at]);
    }
    const values = textsOf(column).map(convert);
    const places = unpack(column.at, count).map(Number);
    return at => values[places[at]];
  };
}

const extents = ['batch', 'seq', 'heads', 'key_dim', 'value_dim', 'key_seq', 'key_heads',
  'model_dim', 'columns', 'sequences'];
const letters = {batch: 'B', seq: 'T', heads: 'H', key_dim: 'K', value_dim: 'V', key_seq: 'keys',
  key_heads: 'key heads', model_dim: 'd', columns: 'columns', sequences: 'sequences'};

/** "B=8 T=4096 H=16 K=128 V=128", what is behind the dimensions only where it is given. */
export function shapeLabel(shape) {
  return extents.filter(extent => extent in shape)
    .map(extent => `${letters[extent]}=${shape[extent]}`).join(' ');
}

/** "a=b, c=d", or "" */
export function pairs(object, separator = ', ') {
  return Object.keys(object).map(key => `${key}=${object[key]}`).join(separator);
}

/** A problem's fields, once for all its rows. `text`: as it stands in a command. */
function problemOf(text, index) {
  const problem = JSON.parse(text);
  const fields = {problem: index, problem_text: text};
  for (const key of ['operator', 'direction', 'dtype', 'layout', 'gate', 'seed', 'initial_state',
    'final_state', 'scale']) {
    fields[key] = problem[key] === undefined ? null : problem[key];
  }
  for (const extent of extents) {
    fields[extent] = problem.shape[extent] === undefined ? null : problem.shape[extent];
  }
  fields.options = problem.options || {};
  fields.options_label = [fields.layout === 'seq_first' ? '' : fields.layout,
    pairs(fields.options)].filter(part => part).join(', ');
  fields.shape = shapeLabel(problem.shape);
  return fields;
}

/** An argument as a shell takes it, as shell_quoted() of the program. */
export function shellQuoted(text) {
  return `'${text.replace(/'/g, '\'\\\'\'')}'`;
}

/** The command that repeats a row, letter by letter as the record has it; null for a peer's. */
export function commandOf(row) {
  if (row.peer) return null;
  const head = `{"variant":${JSON.stringify(row.variant)},"backend":"${row.backend}","tile":` +
    `${row.tile_text},`;
  return `gla-bench repeat ${shellQuoted(head + row.problem_text.slice(1))}`;
}

function fact(file, key) {
  const value = file.environment[key];
  return typeof value === 'number' && value > 0 ? value : null;
}

/** What each device reaches, from the files that measured it: for files that did not (a peer's). */
function ceilingsOf(files) {
  const ceilings = new Map();
  for (const file of files) {
    const device = file.environment.device || '';
    const known = ceilings.get(device) || {};
    const most = (key, old) => Math.max(fact(file, key) || 0, old || 0) || null;
    ceilings.set(device, {
      copy_gbs: most('copy_gb_per_s', known.copy_gbs),
      peak_tflops: most('matrix_tflop_per_s', known.peak_tflops),
      cache_bytes: most('l2_bytes', known.cache_bytes)
    });
  }
  return ceilings;
}

const plainNumbers = ['cold_ms', 'cold_half', 'hot_ms', 'samples', 'floor_bytes', 'model_bytes',
  'workspace_bytes', 'flops', 'joules', 'registers', 'spill_bytes', 'shared_bytes',
  'refused_tiles', 'of_copy', 'of_peak'];
const counted = ['dram_read_bytes', 'dram_write_bytes', 'l2_bytes', 'tensor_instructions'];
const texts = ['variant', 'backend', 'device', 'status', 'source_hash'];

/** A function of a row's place: [{name, error, bound}], empty where nothing was compared. */
function tensorReader(document) {
  const read = reader(document.tensors, document.count);
  const names = Object.keys(document.tensors).filter(name => name.endsWith('/error'))
    .map(name => name.slice(0, -'/error'.length));
  const columns = names.map(name => [name, read(`${name}/error`), read(`${name}/bound`)]);
  return at => columns.filter(([, error]) => error(at) !== null)
    .map(([name, error, bound]) => ({name, error: error(at), bound: bound(at)}));
}

/** The tensor that uses most of its bound; a NaN is worse than anything. */
export function worstTensor(tensors) {
  let worst = null;
  for (const tensor of tensors) {
    if (Number.isNaN(tensor.error)) return tensor;
    if (!worst || tensor.error / tensor.bound > worst.error / worst.bound) worst = tensor;
  }
  return worst;
}

/** What the device of a file reaches: as the file itself measured it, where it did. */
function ceilingOf(file, ofDevices) {
  const others = ofDevices.get(file.environment.device || '');
  return {
    copy_gbs: fact(file, 'copy_gb_per_s') || others.copy_gbs,
    peak_tflops: fact(file, 'matrix_tflop_per_s') || others.peak_tflops,
    cache_bytes: others.cache_bytes
  };
}

/** A record. What it has is in its fields; only the command is made when it is asked for. */
class Row {
  constructor(fields) {
    Object.assign(this, fields);
  }
  get command() {
    return commandOf(this);
  }
}

/** What follows from a row's own numbers and its device's. */
function derive(row) {
  row.tile_label = pairs(row.tile);
  row.record = `${row.file}#${row.row}`;
  row.error = row.bound = null;
  const worst = worstTensor(row.tensors);
  if (worst) {
    row.error = worst.error;
    row.bound = worst.bound;
  }
  // The 95 % interval of the median, of which the data have half the width, relative to it.
  const half = row.cold_half;
  row.cold_low = half === null ? null : row.cold_ms * Math.max(0, 1 - half);
  row.cold_high = half === null ? null : row.cold_ms * (1 + half);
  const counters = row.counters;
  row.measured_bytes = counters && counters.dram_read_bytes !== null
    ? counters.dram_read_bytes + counters.dram_write_bytes : null;
  const floor = row.floor_bytes !== null && row.copy_gbs !== null;
  row.floor_ms = floor ? row.floor_bytes / (row.copy_gbs * 1e6) : null;
  const timed = row.cold_ms !== null && row.cold_ms > 0;
  row.of_floor = timed && row.floor_ms !== null ? row.floor_ms / row.cold_ms : null;
  row.tflops = timed && row.flops !== null ? row.flops / (row.cold_ms * 1e9) : null;
  row.gbs = timed && row.floor_bytes !== null ? row.floor_bytes / (row.cold_ms * 1e6) : null;
}

function stagesOf(list) {
  return list ? list.map(([name, ms, bytes]) => ({name, ms, bytes})) : [];
}

/** Counted figures of a row; null where nothing was counted. */
function counterReader(read) {
  const columns = counted.map(name => [name, read(name)]);
  return at => {
    const counters = {};
    let some = false;
    for (const [name, value] of columns) {
      counters[name] = value(at);
      some = some || counters[name] !== null;
    }
    return some ? counters : null;
  };
}

/** What stands in columns, as a function that puts it into the row of a place. */
function fieldReader(document) {
  const read = reader(document.columns, document.count);
  const columns = [...plainNumbers, ...texts].map(name => [name, read(name)]);
  const flags = ['right', 'deterministic'].map(name => [name, read(name)]);
  const timed = ['suspect', 'throttled'].map(name => [name, read(name)]);
  const orNull = ['reason', 'check', 'bound_by', 'bound_why'].map(name => [name, read(name)]);
  const [peer, tileText] = [read('peer'), read('tile')];
  const tile = read('tile', text => JSON.parse(text));
  const [counters, tensors] = [counterReader(read), tensorReader(document)];
  return (row, at) => {
    for (const [name, value] of columns) row[name] = value(at);
    for (const [name, value] of flags) row[name] = value(at) === null ? null : value(at) === 1;
    for (const [name, value] of timed) row[name] = row.cold_ms === null ? null : value(at) === 1;
    for (const [name, value] of orNull) row[name] = value(at) || null;
    row.peer = peer(at) === 1;
    row.tile = tile(at);
    row.tile_text = tileText(at);
    row.counters = counters(at);
    row.tensors = tensors(at);
    row.stages = stagesOf(document.stages[at]);
  };
}

/** The rows of a page's data, in the order of its files. */
export function decode(document) {
  if (document.format !== 1) throw new Error(`found data of format ${document.format}, expected 1`);
  const problem = reader(document.columns, document.count)('problem', problemOf);
  const putFields = fieldReader(document);
  const ceilings = ceilingsOf(document.files);
  const rows = [];
  for (const file of document.files) {
    const ceiling = ceilingOf(file, ceilings);
    for (let place = 1; place <= file.count; ++place) {
      const id = rows.length;
      const row = new Row({id, file: file.name, row: file.places ? file.places[place - 1] : place});
      Object.assign(row, problem(id), ceiling);
      putFields(row, id);
      derive(row);
      rows.push(row);
    }
  }
  return rows;
}

const failed = new Set(['wrong', 'build_failed', 'run_failed', 'crashed', 'timeout']);

/** True where a candidate was tried and is not right. */
export function isFailure(row) {
  return failed.has(row.status);
}

/** True where something was done with it. */
export function wasTried(row) {
  return row.status !== 'rejected' && row.status !== 'left_out';
}
