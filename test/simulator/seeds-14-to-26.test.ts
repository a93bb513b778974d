import { testSeeds } from "./seeds.ts";

testSeeds(14, 26);
