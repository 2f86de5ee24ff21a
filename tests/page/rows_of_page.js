// node rows_of_page.cjs PAGE.html: the rows of a page as JSON, with NaN as "nan".

import {readFileSync} from 'node:fs';
import {decode, unpacked} from '../../page/rows.js';

const page = readFileSync(process.argv[2], 'utf8');
const start = '<script id="data" type="application/octet-stream">';
const at = page.indexOf(start) + start.length;
unpacked(page.slice(at, page.indexOf('</script>', at))).then(data => {
  const rows = decode(data);
  const plain = rows.map(row => Object.assign({}, row, {command: row.command}));
  process.stdout.write(JSON.stringify(plain, (key, value) =>
    typeof value === 'number' && Number.isNaN(value) ? 'nan' : value));
});
