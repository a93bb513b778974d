import { describe, expect, test } from "vitest";
import { rehearsalHtml } from "./html.ts";
import { escapeHtml, scriptJson } from "../upgrade/report/html-text.ts";
import type { ManifestFinding } from "./manifests.ts";
import { inWords, type WrongResponse } from "./report.ts";
import { WRONG_KINDS } from "./wrong-kinds.ts";
import { sampleReport, sampleRun } from "../../../test/testing/tools/rehearsal/sample-report.ts";

const EVIL = `</script><img src=x onerror="alert('1')">&amp;`;

function at(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((parent, key) => (parent as Record<string, unknown>)[key], value);
}

describe("the report page", () => {
  test("shows only figures of the embedded report", () => {
    const html = rehearsalHtml(sampleReport({ manifests: { objects: 12, findings: [] } }));
    const [, json = ""] = /<script type="application\/json" id="report">(.*?)<\/script>/s.exec(html) ?? [];
    const embedded: unknown = JSON.parse(json);
    const shown = [...html.matchAll(/data-figure="([^"]+)">([^<]*)</g)].map(([, path = "", text]) => ({ path, text }));
    expect(shown.length).toBeGreaterThan(30);
    for (const { path, text } of shown) expect(`${path} ${text}`).toBe(`${path} ${String(at(embedded, path) ?? 0)}`);
    expect(embedded).toEqual(JSON.parse(JSON.stringify(sampleReport({ manifests: { objects: 12, findings: [] } }))));
  });

  test("says that it is a simulation, which version played it when, and how to repeat it", () => {
    const html = rehearsalHtml(sampleReport());
    expect(html).toContain("This is a simulation of the API servers");
    expect(html).toContain("Evenkeel 1.2.3 on 2030-01-02T03:04:05.000Z");
    expect(html).toContain(
      escapeHtml(`<pre>evenkeel rehearse --from 1.33 --to 1.35 --manifests 'it'\\''s here'`).slice(11),
    );
  });

  test("defines every kind of wrong response", () => {
    const html = rehearsalHtml(sampleReport());
    for (const [kind, { meaning }] of Object.entries(WRONG_KINDS))
      expect(html).toContain(`<dt>${inWords(kind)}</dt><dd>${escapeHtml(meaning)}.</dd>`);
  });

  test("loads nothing from the network", () => {
    const html = rehearsalHtml(sampleReport());
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/(?:src|href)="(?!data:)/);
    expect(html).not.toMatch(/https?:|@import|url\(/);
  });

  test("has a chart of each run, with the steps, the wrong responses and the lanes of storage versions", () => {
    const [plain, judged] = sampleReport().runs;
    const buckets = plain!.series.buckets.map((bucket) => ({ ...bucket, wrong: 1 }));
    const runs = [{ ...plain!, series: { ...plain!.series, buckets } }, judged!];
    const html = rehearsalHtml(sampleReport({ runs }));
    const count = (pattern: RegExp): number => [...html.matchAll(pattern)].length;
    expect(count(/<svg /g)).toBe(3);
    expect(count(/<rect class="step"/g)).toBe(8);
    expect(count(/<path class="mark"/g)).toBe(3);
    expect(count(/<rect class="lane /g)).toBe(3);
  });

  test("escapes all text from servers, clients and manifests", () => {
    const wrong: WrongResponse = {
      atMs: 1,
      kind: "write-lost",
      client: EVIL,
      server: EVIL,
      request: EVIL,
      said: EVIL,
      right: EVIL,
    };
    const run = sampleRun("kube-apiserver-with-proxy", {
      wrong: 1,
      firstWrong: [wrong],
      faults: [{ atMs: 1, what: EVIL }],
      longestWait: { ms: 1, atMs: 1, client: EVIL, request: EVIL },
      storage: [{ resource: EVIL, points: [{ atMs: 0, common: EVIL, encodings: { [EVIL]: EVIL } }] }],
      failures: [EVIL],
    });
    const finding: ManifestFinding = {
      kind: "not-served",
      file: EVIL,
      apiVersion: EVIL,
      objectKind: EVIL,
      name: EVIL,
      release: null,
      replacement: EVIL,
      sentence: EVIL,
    };
    const manifests = { objects: 1, findings: [finding] };
    const verdict = { isPass: false, sentence: EVIL };
    const html = rehearsalHtml(sampleReport({ runs: [run, run], manifests, verdict }));
    expect(html).not.toContain("<img");
    expect([...html.matchAll(/<\/script>/g)]).toHaveLength(2);
    // The embedded report contains the text as JSON, which is not executed.
    expect(html.replace(/<script type="application\/json".*?<\/script>/s, "")).not.toMatch(/alert\('1'\)/);
  });

  test("escapes text and JSON so that neither can become markup, and both can be restored", () => {
    expect(escapeHtml(`<a b="c" d='e'>&`)).toBe("&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
    expect(JSON.parse(scriptJson({ a: `${EVIL}<!--\u2028` }))).toEqual({ a: `${EVIL}<!--\u2028` });
    expect(scriptJson("</script><!--")).not.toMatch(/[<>]/);
  });
});
