import { testSeeds } from "./seeds.ts";

testSeeds(27, 38);
