// Numbers as people read them, and the ticks of axes. Pure functions.

const short = {
  bfloat16: 'bf16',
  float16: 'fp16',
  float32: 'fp32'
};

/** Three significant digits, without an exponent and without zeros that say nothing. */
export function digits(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  return String(Number(value.toPrecision(3)));
}

function scaled(value, units, show) {
  if (!Number.isFinite(value)) return '–';
  const [size, unit] = units.find(([from]) => Math.abs(value) >= from) || units[units.length - 1];
  return `${show(value / size)} ${unit}`;
}

const ofTime = [[1e3, 's'], [1, 'ms'], [1e-3, 'µs'], [1e-6, 'ns']];
const ofBytes = [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];

/** Three digits, zeros too, so that numbers below each other can be compared. */
function threeDigits(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Milliseconds as "19.2 µs", "1.90 ms", "2.40 s". */
export function time(ms) { return scaled(ms, ofTime, threeDigits); }

/** The same on an axis: "100 µs", "1 ms". */
export function timeTick(ms) { return scaled(ms, ofTime, digits); }

/** Bytes by thousands, as the program's other reports have them: "679 MB". */
export function bytes(value) { return scaled(value, ofBytes, digits); }

/** "1.32×"; "12×" where a second digit says nothing. */
export function factor(value) {
  if (!Number.isFinite(value)) return '–';
  return `${value < 10 ? value.toFixed(2) : digits(value)}×`;
}

/** The same on an axis: "1×", "1.5×". */
export function factorTick(value) { return `${digits(value)}×`; }

/** A share as "57 %", "0.4 %", "0.03 %". */
export function percent(share) {
  if (!Number.isFinite(share)) return '–';
  const value = 100 * share;
  if (value !== 0 && Math.abs(value) < 0.001) return `${value.toExponential(0)} %`;
  if (Math.abs(value) < 0.1) return `${Number(value.toPrecision(1))} %`;
  return `${Math.abs(value) < 1 ? Number(value.toFixed(1)) : Math.round(value)} %`;
}

/** A change of time with its sign: 1.034 as "+3.4 %", 2.5 as "2.5×". */
export function change(ratio) {
  if (!Number.isFinite(ratio)) return '–';
  if (ratio >= 2) return factor(ratio);
  const value = 100 * (ratio - 1);
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)} %`;
}

/** An error as "1.7e-3". */
export function error(value) {
  return Number.isFinite(value) ? (value === 0 ? '0' : value.toExponential(1)) : String(value);
}

/** Extents: 32768 as "32k", 65536 as "64k", 1000 as "1000". */
export function extent(value) {
  if (value >= 1048576 && value % 1048576 === 0) return `${value / 1048576}M`;
  return value >= 1024 && value % 1024 === 0 ? `${value / 1024}k` : String(value);
}

/** "bf16" for "bfloat16". */
export function dtype(name) { return short[name] || name; }

/** "1 problem", "2 problems". */
export function count(number, one, many) {
  return `${number} ${number === 1 ? one : many || `${one}s`}`;
}

/**
 * Round values of a logarithmic axis from `low` to `high`, at most `most` of them: tens, with 2 and
 * 5 between where there is room; every second or third power of ten where there is not.
 */
export function logTicks(low, high, most) {
  const at = steps => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
      for (const step of steps) {
        const tick = Number(`${step}e${power}`);
        if (tick >= low * 0.9999 && tick <= high * 1.0001) ticks.push(tick);
      }
    }
    return ticks;
  };
  for (const steps of [[1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
    const ticks = at(steps);
    if (ticks.length <= most) return ticks;
  }
  const tens = at([1]);
  const every = Math.ceil(tens.length / most);
  return tens.filter((tick, i) => i % every === 0);
}

/**
 * Powers of two that lie in [low, high], thinned to `most`; what was measured where it is no
 * power.
 */
export function extentTicks(values, most) {
  const sorted = Array.from(new Set(values)).sort((a, b) => a - b);
  if (sorted.length <= most) return sorted;
  const every = Math.ceil(sorted.length / most);
  // The last is the one that is asked for most often, so counting starts there.
  return sorted.filter((value, i) => (sorted.length - 1 - i) % every === 0);
}

/** Round values from 0 to `high` or a little above, at most `most` + 1 of them. */
export function linearTicks(high, most) {
  const raw = high / most;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 2.5, 5, 10].map(s => s * power).find(s => s >= raw * 0.999999);
  const ticks = [];
  for (let i = 0; i <= Math.ceil(high / step - 1e-9); ++i) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

/**
 * The domain of a logarithmic axis with `margin` (a factor) round the data; a decade where it is
 * empty.
 */
export function logDomain(values, margin) {
  const positive = values.filter(value => Number.isFinite(value) && value > 0);
  if (positive.length === 0) return [1, 10];
  const low = positive.reduce((a, b) => Math.min(a, b));
  const high = positive.reduce((a, b) => Math.max(a, b));
  return [low / margin, high * margin];
}
