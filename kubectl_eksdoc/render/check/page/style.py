"""How the page of a check looks, beyond what all pages have."""

from __future__ import annotations

from kubectl_eksdoc.render.pages import STYLE as COMMON

STYLE = (
    COMMON
    + """\
.route { font-size: 1.15rem; margin: .3rem 0; }
.route b { font-size: 1.5rem; }
.gates { list-style: none; display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .6rem; padding: 0;
  margin: .7rem 0 .1rem; }
.gates li { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .45rem .7rem; }
.gates b, .gates span { display: block; }
.gates span { font-weight: 600; }
.worst { margin: .4rem 0; } .worst li { margin: .25rem 0; }
.lights { list-style: none; display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .6rem; padding: 0;
  margin: .5rem 0; }
.lights li { display: grid; grid-template-columns: 2.3rem minmax(0, 1fr); align-content: center;
  background: var(--card); border: 1px solid var(--line); border-left: .35rem solid; border-radius: .4rem;
  padding: .45rem .6rem; break-inside: avoid; }
.lights .sign { grid-row: 1 / 3; align-self: center; font-size: 1.3rem; font-weight: 700; text-align: center; }
.lights b, .lights a { color: var(--ink); }
.lights li > span:last-child { font-size: .87rem; }
.unseen { color: var(--soft); }
#findings h3 { margin-top: 1.5rem; scroll-margin-top: .5rem; }
#findings h3 .soft { font-weight: 400; font-size: .9rem; }
[id^="finding-"] { scroll-margin-top: 4rem; }
:target { outline: 2px solid var(--bar); outline-offset: 3px; border-radius: .2rem; }
.way { list-style: none; padding: 0; }
.way > li { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; }
.way label { display: grid; grid-template-columns: 1.9rem minmax(0, 1fr); padding: .55rem 1rem .3rem; font-weight: 600;
  cursor: pointer; align-items: start; }
.way input { width: 1.15rem; height: 1.15rem; margin: .15rem 0 0; accent-color: var(--good); }
.way input:checked + span { color: var(--soft); text-decoration: line-through; }
.way details { border: 0; margin: 0 0 .2rem 1.9rem; background: none; }
.way summary { padding-top: .1rem; color: var(--soft); font-size: .9rem; }
.way .tag { font-weight: 600; }
#unknown td { overflow-wrap: anywhere; min-width: 6.5rem; }
.tag.bad { color: var(--bad); border-color: var(--bad); }
@media (max-width: 60rem) { .lights { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
@media (max-width: 40rem) {
  .gates { grid-template-columns: 1fr; } .lights { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .4rem; }
  .lights li { grid-template-columns: 1.8rem minmax(0, 1fr); padding: .4rem; }
  .way label { padding: .5rem .7rem .3rem; } .way details { margin-left: 1.2rem; }
}
@media print {
  @page { margin: 13mm; }
  :root { font-size: 9pt; } body { font-size: 9pt; } h2 { margin-top: 1rem; }
  .lights { grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .35rem; } .lights li { padding: .25rem .4rem; }
  #findings, #way, #drain, #judged { break-before: page; }
  .lights li, .gates li, .worst li { break-inside: avoid; }
  summary { list-style: none; padding: .35rem .8rem; } summary::marker { content: ""; }
  details > :last-child { padding-bottom: .4rem; }
  details details { border: 0; margin: .1rem 0; } details details > summary { padding: .2rem 0; color: var(--soft); }
  details[open] > summary { border: 0; margin: 0; } details details > ul { padding: 0 0 0 1.2rem; }
  .way label { break-after: avoid; }
  .way summary { display: none; }
  .way input { appearance: none; -webkit-appearance: none; border: 1.5px solid #000; border-radius: 2px; }
  .way input:checked::before { content: "✓"; display: block; font-size: 1rem; line-height: 1; text-align: center; }
  #judged td.s { overflow-wrap: normal; }
}
"""
)
