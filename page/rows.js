// The data of a page (harness/report/page/data.cpp) as rows: plain objects, null where there is
// nothing.

/** The bytes of a text in base64. */
function bytesOf(base64) {
  const text = atob(base64.trim());
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; ++at) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** The data that packed() of the program made of a text (harness/report/page/packed.hpp). */
export async function unpacked(base64) {
  const stream = new Blob([bytesOf(base64)]).stream()
    .pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

const noNumbers = {nan: NaN, inf: Infinity, '-inf': -Infinity};

/** A column by name as a function of a row's place; of one that is not there, always null. */
function reader(columns, count) {
  return (name, convert = value => value) => {
    const column = columns[name];
    if (column === undefined) return () => null;
    const values = Array.isArray(column) ? column : column.at;
    if (values.length !== count) {
      throw new Error(`${name} holds ${values.length} values, expected ${count}`);
    }
    if (values !== column) {
      const texts = column.texts.map(convert);
      return at => values[at] === null ? null : texts[values[at]];
    }
    return at => {
      const value = values[at];
      return typeof value === 'string' ? noNumbers[value] : value;
    };
  };
}

/** "B=8 T=4096 H=16 K=128 V=128" of the extents that a shape states. */
export function shapeLabel(extents) {
  return extents.map(({symbol, value}) => `${symbol}=${value}`).join(' ');
}

/** "a=b, c=d", or "" */
export function pairs(object, separator = ', ') {
  return Object.keys(object).map(key => `${key}=${object[key]}`).join(separator);
}

/**
 * A problem's fields, once for all its rows. `text`: as it stands in a command; `known`: all
 * extents, {name, symbol, role}, of which a row gets those that its shape states, each with its
 * value. An extent's value is also a field by itself.
 */
function problemOf(text, index, known) {
  const problem = JSON.parse(text);
  const fields = {problem: index, problem_text: text};
  for (const key of ['operator', 'direction', 'dtype', 'layout', 'gate', 'seed', 'initial_state',
    'final_state', 'scale']) {
    fields[key] = problem[key] === undefined ? null : problem[key];
  }
  for (const {name} of known) {
    fields[name] = problem.shape[name] === undefined ? null : problem.shape[name];
  }
  fields.extents = known.filter(({name}) => fields[name] !== null)
    .map(extent => Object.assign({value: fields[extent.name]}, extent));
  fields.options = problem.options || {};
  fields.options_label = [fields.layout === 'seq_first' ? '' : fields.layout,
    pairs(fields.options)].filter(part => part).join(', ');
  fields.shape = shapeLabel(fields.extents);
  return fields;
}

/** An argument as a shell takes it, as shell_quoted() of the program. */
export function shellQuoted(text) {
  return `'${text.replace(/'/g, '\'\\\'\'')}'`;
}

/**
 * The command that repeats a row, letter by letter as the record has it; null for what another
 * program measured.
 */
export function commandOf(row) {
  if (row.peer && !row.manifest) return null;
  const manifest = row.manifest ? `"manifest":${JSON.stringify(row.manifest)},` : '';
  const head = `{"variant":${JSON.stringify(row.variant)},${manifest}"backend":"${row.backend}",` +
    `"tile":${row.tile_text},`;
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

const counted = ['dram_read_bytes', 'dram_write_bytes', 'l2_bytes', 'tensor_instructions'];
/** Columns that do not become a field as they are. */
const derived = new Set([...counted, 'problem', 'tile_text']);

/** A function of a row's place: [{name, error, bound}], empty where nothing was compared. */
function tensorReader(document) {
  const read = reader(document.tensors, document.count);
  const names = Object.keys(document.tensors).filter(name => name.endsWith('/error'))
    .map(name => name.slice(0, -'/error'.length));
  const columns = names.map(name => [name, read(`${name}/error`), read(`${name}/bound`)]);
  return at => columns.filter(([, error]) => error(at) !== null)
    .map(([name, error, bound]) => ({name, error: error(at), bound: bound(at)}));
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

/** What follows from a row's own numbers. */
function derive(row) {
  row.tile_label = pairs(row.tile);
  row.name = row.variant + (row.arithmetic === 'tf32' ? ' (tf32)' : '');
  row.record = `${row.file}#${row.row}`;
  // The 95 % interval of the median, of which the data have half the width, relative to it.
  const half = row.cold_half;
  row.cold_low = half === null ? null : row.cold_ms * Math.max(0, 1 - half);
  row.cold_high = half === null ? null : row.cold_ms * (1 + half);
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
  const columns = Object.keys(document.columns).filter(name => !derived.has(name))
    .map(name => [name, read(name)]);
  const tileText = read('tile_text');
  const tile = read('tile_text', text => JSON.parse(text));
  const [counters, tensors] = [counterReader(read), tensorReader(document)];
  return (row, at) => {
    for (const [name, value] of columns) row[name] = value(at);
    row.tile = tile(at);
    row.tile_text = tileText(at);
    row.counters = counters(at);
    row.tensors = tensors(at);
    row.stages = stagesOf(document.stages[at]);
  };
}

/** The rows of a page's data, in the order of its files. */
export function decode(document) {
  if (document.format !== 3) throw new Error(`found data of format ${document.format}, expected 3`);
  const problem = reader(document.columns, document.count)('problem',
    (text, index) => problemOf(text, index, document.extents));
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
