import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { poison, sampleFinding, sampleInspection } from "../../../../test/testing/tools/upgrade/sample-inspection.ts";
import { inspectionHtml } from "./inspection-html.ts";

const OPTIONS = { ignored: [], writtenBy: "evenkeel development" };

describe("inspectionHtml", () => {
  test("loads nothing, has no script, and allows only its own style", () => {
    const html = inspectionHtml(sampleInspection(), OPTIONS);
    const [, style = ""] = /<style>(.*?)<\/style>/s.exec(html) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(html).toContain(`content="default-src 'none'; style-src 'sha256-${hash}';`);
    expect(html).not.toMatch(/<script|style="|\son[a-z]+=|https?:|@import|url\(/);
    expect(html).not.toMatch(/(?:src|href)="(?!data:,|#)/);
  });

  test("escapes all text from the cluster", () => {
    const evil = `</style></td><script>alert(1)</script><img src=x onerror="alert('1')">&amp;`;
    const html = inspectionHtml(poison(sampleInspection(), evil), { ignored: [evil], writtenBy: evil });
    expect(html).not.toMatch(/<script|<img|alert\('1'\)/);
    expect(html.match(/<\/style>/g)).toHaveLength(1);
    expect(html).toContain("&lt;script&gt;");
  });

  test("shows control characters and characters that reverse text as replacement characters", () => {
    const html = inspectionHtml(poison(sampleInspection(), "\u001b[2J\u0000\u202e"), OPTIONS);
    for (const hidden of ["\u0000", "\u001b", "\u202e"]) expect(html).not.toContain(hidden);
    expect(html).toContain("\u{fffd}[2J");
  });

  test("has every finding, the most severe first, with commands in blocks", () => {
    const html = inspectionHtml(sampleInspection(), OPTIONS);
    const ids = [...html.matchAll(/data-finding="([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toEqual(["sample-error", "sample-warning", "sample-info"]);
    expect(html).toContain("<pre><code>kubectl get sample-error</code></pre>");
  });

  test("hides all but the first subjects of a finding, and counts those that the finding does not list", () => {
    const subjects = Array.from({ length: 100 }, (_, n) => ({ name: `pods a/p${n}` }));
    const html = inspectionHtml(
      sampleInspection({ findings: [sampleFinding("error", "many", { subjects, count: 1_250 })] }),
      OPTIONS,
    );
    expect(html).toContain("<summary>1,245 more</summary>");
    expect(html).toContain("and 1,150 more that are not listed");
  });

  test("links to each section that has content, and leaves out the others", () => {
    const full = inspectionHtml(sampleInspection(), OPTIONS);
    const links = [...full.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links).toHaveLength(10);
    for (const id of links) expect(full).toContain(`<h2 id="${id}">`);
    expect(inspectionHtml(sampleInspection({ customResources: [] }), OPTIONS)).not.toContain(`id="crds"`);
  });

  test("marks a report from the API as limited", () => {
    const { read } = sampleInspection();
    const html = inspectionHtml(sampleInspection({ read: { ...read, notKnown: ["<b>sizes</b>"] } }), OPTIONS);
    expect(html).toContain("This is a limited report");
    expect(html).toContain("<li>&lt;b&gt;sizes&lt;/b&gt;</li>");
  });
});
