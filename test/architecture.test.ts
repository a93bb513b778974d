import { expect, test } from "vitest";
import * as im from "./architecture/imports.ts";
import * as de from "./architecture/determinism.ts";
import * as co from "./architecture/conventions.ts";
import * as si from "./architecture/sizes.ts";
import * as doc from "./architecture/documents.ts";
import { parseSources, readProject, report } from "./architecture/sources.ts";
const files = readProject();
const sources = parseSources(files);
test("x", () => {
  for (const c of [im.checkAllowedImports, im.checkBarrels, im.checkDeadFiles, im.checkDefaultExports, im.checkImportCycles, im.checkInternalFolders,de.checkBannedGlobals,de.checkModuleState,co.checkErrorNames,co.checkEmptyCatches,co.checkAny,co.checkTags]) console.log(c.name, report(c(sources)));
  for (const c of [doc.checkHeadings,doc.checkBudgets,doc.checkPrivateText]) console.log(c.name, report(c(files)));
  console.log(si.currentOffenders(sources));
  console.log(im.onlyReachedByTests(sources));
});
