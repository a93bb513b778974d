/** The style of the page of an inspection, added to the BASE_STYLE of all report pages. */
export const INSPECTION_STYLE = `
:root { --error: #c62f2f; --warning: #a86a00; --info: #2f6fa8; --bar: #8fb7d6; }
@media (prefers-color-scheme: dark) { :root { --error: #ff8a80; --warning: #f0b95a; --info: #8fc3ee; --bar: #47708f; } }
h1, h3, p, li, dd { overflow-wrap: anywhere; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; } dl.facts dd { margin: 0; font-weight: 400; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; margin: 1rem 0; } a { color: inherit; }
.limits { padding: .6rem .9rem; background: var(--band); border-radius: 3px; } .limits p { margin: 0; } .limits ul { margin: .25rem 0 0; }
article { border-left: 5px solid var(--line); padding: 0 0 0 .9rem; margin: 1.25rem 0; break-inside: avoid; } article h3 { margin: 0; }
article p, article ul, article ol { margin: .25rem 0; } article ol, article ul { padding-left: 1.5rem; }
article.error { border-color: var(--error); } article.warning { border-color: var(--warning); } article.info { border-color: var(--info); }
.about { color: var(--soft); font-size: .85rem; } .severity { font-weight: 600; }
.error .severity { color: var(--error); } .warning .severity { color: var(--warning); } .info .severity { color: var(--info); }
pre { margin: .25rem 0; padding: .4rem .6rem; background: var(--band); border-radius: 3px; white-space: pre-wrap; overflow-wrap: anywhere; }
code { font: .85rem ui-monospace, monospace; } .detail { color: var(--soft); }
svg.share { width: 5rem; height: .6rem; vertical-align: middle; } svg.share rect { fill: var(--bar); }
.wide + .wide { margin-top: 1rem; } td.number { white-space: nowrap; } footer { margin-top: 2rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) { main { padding: 1rem; } dl.facts { grid-template-columns: 1fr; gap: 0; } dl.facts dd { margin-bottom: .4rem; }
  tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 7rem; } }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --band: #f1f4f7; --band2: #e6ebf0;
    --error: #a11; --warning: #7a4d00; --info: #1d4e79; --bar: #8fb7d6; }
  body { font-size: 11px; } main { max-width: none; padding: 0; } nav { display: none; } tr { break-inside: avoid; } .wide { overflow: visible; }
  details::details-content { content-visibility: visible; block-size: auto; } }
`;
