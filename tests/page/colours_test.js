// Colours of variants that compete can be told apart, whatever eyes one has and on either ground.

import assert from 'node:assert';
import test from 'node:test';
import {colourOf, dashOf, isPeerName, named, symbolOf} from '../../page/colours.js';

// What a dichromat sees, on linear RGB. Source: Machado, Oliveira, Fernandes 2009, severity 1.
const eyes = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
    [-0.011820, 0.042940, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.303900]]
};

function linear(colour) {
  return [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4));
}

const dot = (a, b) => a.reduce((sum, value, at) => sum + value * b[at], 0);
const luminance = rgb => dot(rgb, [0.2126729, 0.7151522, 0.0721750]);

/** CIE L*a*b* under D65 of a colour as these eyes see it. */
function seen(colour, matrix) {
  const rgb = matrix.map(line => Math.min(1, Math.max(0, dot(line, linear(colour)))));
  const f = t => t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116;
  const x = f(dot(rgb, [0.4124564, 0.3575761, 0.1804375]) / 0.95047);
  const y = f(luminance(rgb));
  const z = f(dot(rgb, [0.0193339, 0.1191920, 0.9503041]) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a, b) => Math.hypot(...a.map((value, at) => value - b[at]));

function contrast(a, b) {
  const [low, high] = [luminance(linear(a)), luminance(linear(b))].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

const rivals = {
  recurrences: ['chunk_sm90', 'chunk_fused', 'chunk_materialized', 'chunk_pipeline', 'recurrent',
    'decode', 'parallel', 'parallel_cublas'],
  softmax: ['online_blocked', 'online', 'three_pass'],
  attention: ['flash2', 'flash1', 'flash2_deterministic', 'materialized', 'flash_decoding',
    'flash_decoding_pp'],
  layer: ['fused', 'composed']
};

function pairs(list) {
  return list.reduce((all, a, at) => all.concat(list.slice(at + 1).map(b => [a, b])), []);
}

for (const dark of [false, true]) {
  test(`rivals differ for all eyes on a ${dark ? 'dark' : 'light'} ground`, () => {
    for (const family of Object.values(rivals)) {
      for (const [a, b] of pairs(family)) {
        for (const [name, matrix] of Object.entries(eyes)) {
          const apart = distance(seen(colourOf(a, dark), matrix), seen(colourOf(b, dark), matrix));
          // 2.3 is what can just be seen side by side.
          assert.ok(apart >= 19, `${a} and ${b} for ${name} eyes: ${apart.toFixed(1)}`);
        }
      }
    }
  });

  test(`marks stand out from a ${dark ? 'dark' : 'light'} ground`, () => {
    for (const variant of [...named, 'fla.chunk_gla']) {
      const ratio = contrast(colourOf(variant, dark), dark ? '#191c20' : '#ffffff');
      assert.ok(ratio >= 3, `${variant}: ${ratio.toFixed(2)}`);
    }
  });
}

test('every variant with a colour has its rivals here', () => {
  const known = new Set([].concat(...Object.values(rivals)));
  assert.deepStrictEqual(named.filter(variant => !known.has(variant)), []);
});

test('no two variants have both the same colour and the same symbol', () => {
  for (const [a, b] of pairs(named)) {
    const same = colourOf(a, false) === colourOf(b, false) && symbolOf(a) === symbolOf(b);
    assert.ok(!same, `${a} and ${b}`);
  }
});

test('names without a colour of their own keep the one they get', () => {
  for (const name of ['', 'toy', 'a new variant', 'constructor', '__proto__']) {
    assert.strictEqual(colourOf(name, false), colourOf(name, false));
    assert.ok(/^#[0-9a-f]{6}$/.test(colourOf(name, true)), name);
    assert.ok(symbolOf(name) >= 0 && symbolOf(name) < 7, name);
  }
});

test('peers are grey and dashed, ours are not', () => {
  assert.ok(isPeerName('fla.chunk_gla') && !isPeerName('chunk_fused'));
  assert.strictEqual(colourOf('fla.chunk_gla', false), colourOf('torch.sdpa', false));
  assert.notStrictEqual(dashOf('fla.chunk_gla'), '');
  assert.strictEqual(dashOf('chunk_fused'), '');
});
