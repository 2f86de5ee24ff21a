// Numbers as people read them, and the ticks of axes. Pure functions.

const short = {
  bfloat16: 'bf16',
  float16: 'fp16',
  float32: 'fp32'
};

/**
 * So many significant digits without an exponent, zeros included; digits before the point are never
 * left out. The program's reports round by the same rules (harness/support/numbers.cpp), and a
 * table of numbers holds the two together.
 */
export function plainDigits(value, most) {
  if (value === 0) return value.toFixed(most - 1);
  const [, exponent] = value.toExponential(most - 1).split('e');
  return value.toFixed(Math.max(0, most - 1 - Number(exponent)));
}

/** Three significant digits, without zeros at the end that say nothing. */
export function digits(value) {
  const text = plainDigits(value, 3);
  if (!text.includes('.')) return text;
  return text.replace(/\.?0+$/, '');
}

/** A rate with three digits, zeros too, so that numbers below each other can be compared. */
export function rate(value) { return plainDigits(value, 3); }

function scaled(value, units, show) {
  if (!Number.isFinite(value)) return '–';
  const [size, unit] = units.find(([from]) => Math.abs(value) >= from) || units[units.length - 1];
  return `${show(value / size)} ${unit}`;
}

const ofTime = [[1e3, 's'], [1, 'ms'], [1e-3, 'µs'], [1e-6, 'ns']];
const ofBytes = [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];

/**
 * Milliseconds with four digits and the unit that fits: "19.24 µs", "1.900 ms", "2.400 s". The
 * digits are found before the unit, so that they are those of the milliseconds in other reports.
 */
export function time(ms) {
  if (!Number.isFinite(ms)) return '–';
  const rounded = Number(ms.toExponential(3));
  const [size, unit] = ofTime.find(([from]) => Math.abs(rounded) >= from) ||
    ofTime[ofTime.length - 1];
  return `${plainDigits(Number((rounded / size).toPrecision(6)), 4)} ${unit}`;
}

/** The same on an axis: "100 µs", "1 ms". */
export function timeTick(ms) { return scaled(ms, ofTime, digits); }

/** Bytes by thousands: "679 MB". */
export function bytes(value) { return scaled(value, ofBytes, digits); }

/** "1.32×"; from 10 on with one digit behind the point, from 100 on with none. */
export function factor(value) {
  if (!Number.isFinite(value)) return '–';
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)}×`;
}

/** The same on an axis: "1×", "1.5×". */
export function factorTick(value) { return `${digits(value)}×`; }

/** A share as "57 %", "5.7 %", "0.4 %", "0.03 %". */
export function percent(share) {
  if (!Number.isFinite(share)) return '–';
  const value = 100 * share;
  const size = Math.abs(value);
  if (size === 0 || size >= 9.95) return `${value.toFixed(0)} %`;
  if (size >= 0.095) return `${value.toFixed(1)} %`;
  if (size >= 0.00095) return `${plainDigits(value, 1)} %`;
  return `${value.toExponential(0)} %`;
}

/** Joules: "12.3 mJ". */
export function joules(value) {
  return value < 1 ? `${digits(value * 1e3)} mJ` : `${digits(value)} J`;
}

/** A change of time with its sign: 1.034 as "+3.40 %", 2.5 as "2.50×". */
export function change(ratio) {
  if (!Number.isFinite(ratio)) return '–';
  if (ratio >= 2) return factor(ratio);
  const value = 100 * (ratio - 1);
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)} %`;
}

/** An error as "1.7e-3". */
export function error(value) {
  if (!Number.isFinite(value)) return String(value);
  return value === 0 ? '0' : value.toExponential(1).replace('+', '');
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
