/** The style of all report pages: colors for light and dark, headings, the verdict and tables. */
export const BASE_STYLE = `
:root { color-scheme: light dark; --ink: #1b2530; --soft: #5b6875; --line: #d5dbe1; --paper: #fff; --band: #f1f4f7; --band2: #e6ebf0; --wrong: #c62f2f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #9fabb6; --line: #3a444e; --paper: #14191f; --band: #1b222a; --band2: #232c35; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1rem 0 0; }
.verdict { padding: .6rem .9rem; border-left: 5px solid; border-radius: 3px; background: var(--band); font-weight: 600; }
.verdict.pass { border-color: #2f8f4e; } .verdict.fail { border-color: var(--wrong); }
dl { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: .75rem 0; } dt { color: var(--soft); } dd { margin: 0 0 0 -1rem; font-weight: 600; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
td.long { overflow-wrap: anywhere; min-width: 9rem; }
thead th { color: var(--soft); font-weight: 500; } tbody th { font-weight: 500; white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; font-weight: 600; }
`;
