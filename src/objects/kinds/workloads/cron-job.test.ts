import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { CRON_JOB } from "./cron-job.ts";
import { scheduleError } from "./cron-schedule.ts";
import { durationError } from "../../../meta/go-duration.ts";
import { CONTEXT, created, defaulted, updated } from "../../../../test/testing/objects/kinds/workloads/objects.ts";

function cronJob(spec: JsonObject = {}, jobSpec: JsonObject = {}, name = "c"): JsonObject {
  const template = { spec: { restartPolicy: "OnFailure", containers: [{ name: "c", image: "example/app:1" }] } };
  return {
    metadata: { name, namespace: "default" },
    spec: { schedule: "*/5 * * * *", jobTemplate: { spec: { template, ...jobSpec } }, ...spec },
  };
}

describe("the schedule", () => {
  test.each([
    "* * * * *",
    "*/5 0-6,12 1 JAN-mar ?",
    "0 0 31 12 6",
    "1/2 * * * *",
    "@daily",
    "@every 1h30m",
    "TZ=UTC 0 0 * * *",
  ])("%s is accepted", (schedule) => {
    expect(scheduleError(schedule)).toBeUndefined();
  });

  test.each([
    ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
    ["60 * * * *", "end of range (60) above maximum (59): 60"],
    ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
    ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
    ["*/0 * * * *", "step of range should be a positive number: */0"],
    ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
    ["1/2/3 * * * *", "too many slashes: 1/2/3"],
    ["a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
    [
      "99999999999999999999 * * * *",
      'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
    ],
    ["*/-1 * * * *", "negative number (-1) not allowed: -1"],
    ["@often", "unrecognized descriptor: @often"],
    ["@every day", 'failed to parse duration @every day: time: invalid duration "day"'],
    ["TZ=Nowhere/At_All * * * * *", "provided bad location Nowhere/At_All: unknown time zone Nowhere/At_All"],
    ["TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]"],
  ])("%s is rejected", (schedule, why) => {
    expect(scheduleError(schedule)).toBe(why);
  });
});

test.each([
  ["1h30m", undefined],
  ["-1.5s", undefined],
  ["0", undefined],
  ["", 'time: invalid duration ""'],
  ["5", 'time: missing unit in duration "5"'],
  ["5d", 'time: unknown unit "d" in duration "5d"'],
])("the duration %j is accepted, or rejected with Go's error", (text, why) => {
  expect(durationError(text)).toBe(why);
});

describe("a CronJob", () => {
  test("defaults its concurrency policy to Allow and its history limits", () => {
    expect(defaulted(CRON_JOB, cronJob())).toMatchObject({
      spec: {
        concurrencyPolicy: "Allow",
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
        jobTemplate: { metadata: {} },
      },
      status: {},
    });
    expect(defaulted(CRON_JOB, cronJob())["spec"]).not.toHaveProperty("jobTemplate.spec.parallelism");
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", cronJob({ timeZone: "Europe/Berlin" }), []],
    ["needs a schedule", cronJob({ schedule: "" }), ["spec.schedule: Required value"]],
    [
      "rejects a time zone in its schedule",
      cronJob({ schedule: "TZ=UTC * * * * *" }),
      [
        'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
      ],
    ],
    [
      "rejects an unknown time zone",
      cronJob({ timeZone: "Nowhere" }),
      ['spec.timeZone: Invalid value: "Nowhere": unknown time zone Nowhere'],
    ],
    ...["europe/berlin", "PST", "Europe/BERLIN", "US/pacific"].map((timeZone): [string, JsonObject, string[]] => [
      `rejects the time zone ${timeZone}, which is not a file name`,
      cronJob({ timeZone }),
      [`spec.timeZone: Invalid value: "${timeZone}": unknown time zone ${timeZone}`],
    ]),
    ["accepts a deprecated time zone name", cronJob({ timeZone: "US/Pacific" }), []],
    [
      "rejects the time zone Local and a negative deadline",
      cronJob({ timeZone: "Local", startingDeadlineSeconds: -1 }),
      [
        "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
        'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
      ],
    ],
    [
      "rejects a selector in its Job template",
      cronJob({ concurrencyPolicy: "Odd" }, { selector: { matchLabels: { a: "b" } }, manualSelector: true }),
      [
        'spec.concurrencyPolicy: Unsupported value: "Odd": supported values: "Allow", "Forbid", "Replace"',
        'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` will be auto-generated',
        'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
      ],
    ],
    [
      "limits the length of its name",
      cronJob({}, {}, "c".repeat(53)),
      [`metadata.name: Invalid value: "${"c".repeat(53)}": must be no more than 52 characters`],
    ],
  ])("%s", (_what, object, errors) => {
    expect(created(CRON_JOB, object)).toEqual(errors);
  });

  test("may keep a stored name that is too long and a stored time zone in its schedule; the time zone causes a warning", () => {
    const old = cronJob({ schedule: "TZ=UTC * * * * *" }, {}, "c".repeat(60));
    expect(updated(CRON_JOB, old, old)).toEqual([]);
    expect([...(CRON_JOB.warnings?.(old, old, CONTEXT) ?? [])]).toEqual([
      "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
    ]);
  });
});
