// Tests how gpt2 bench turns timed runs into numbers. All times are made up, and no clock is read.
#include "cli/bench/repetition.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench/machine.h"
#include "cli/bench/report.h"
#include "support/catch.h"

namespace gpt2::test::repetition_test {

using namespace gpt2::cli;

namespace {

// A workload of 10 tokens that reads 100 bytes, with two threads on two cores.
const Load kLoad = {
    .work = {100.0, 10.0, 0.0}, .tokens = 10.0, .threads = 2, .available = {.cpus = 2, .cores = 2}};

// Returns a run of two seconds at 40 % of the memory limit. It uses the whole machine, and no other
// program runs.
Run quiet_run() {
  return {.seconds = 2.0,
          .switches = 10.0,
          .limit_before = {120.0, 1000.0, 1000.0},
          .limit_after = {125.0, 1000.0, 1000.0},
          .before = {.seconds = 50.0, .all_seconds = 900.0, .own_seconds = 7.0},
          .after = {.seconds = 54.0, .all_seconds = 908.0, .own_seconds = 15.0}};
}

Attempt attempt(double rate, bool is_disturbed = false, double busy = 0.0) {
  return {
      .tokens_per_s = rate, .of_limit = rate / 100.0, .busy = busy, .is_disturbed = is_disturbed};
}

std::vector<double> rates(const std::vector<Attempt>& attempts) {
  std::vector<double> rates;
  for (const Attempt& one : attempts) rates.push_back(one.tokens_per_s);
  return rates;
}

// Returns the rates of the runs that repeat() keeps if its runs are `attempts`, in this order.
// Checks that it made `expected_attempts` of them.
std::vector<double> repeated(std::size_t repetitions, const std::vector<Attempt>& attempts,
                             std::size_t expected_attempts) {
  std::size_t next = 0;
  std::size_t count = 100;
  const auto result = repeat(repetitions, count, [&] { return attempts.at(next++); });
  CHECK(count == 100 + expected_attempts);
  CHECK(next == expected_attempts);
  return rates(result);
}

}  // namespace

TEST_CASE("a run on a quiet machine is not disturbed and is compared with the larger limit") {
  const Attempt quiet = judge(kLoad, quiet_run());
  CHECK(quiet.tokens_per_s == 5.0);
  CHECK(quiet.of_limit == Approx(100.0 / 125.0 / 2.0));
  CHECK(quiet.by_memory);
  CHECK(quiet.busy == 0.0);
  CHECK_FALSE(quiet.is_disturbed);
}

TEST_CASE("a run that computes for longer than it reads is limited by arithmetic") {
  Load load = kLoad;
  load.work = {100.0, 900.0, 500.0};
  const Attempt computing = judge(load, quiet_run());
  CHECK_FALSE(computing.by_memory);
  CHECK(computing.of_limit == Approx((900.0 / 1000.0 + 500.0 / 1000.0) / 2.0));
  CHECK_FALSE(computing.is_disturbed);
}

TEST_CASE("a run is disturbed if other programs take the CPUs that it needs") {
  Run run = quiet_run();
  run.after.all_seconds += 2.0;  // of the 8 that two CPUs have in 4 seconds
  CHECK(judge(kLoad, run).busy == Approx(0.25));
  CHECK(judge(kLoad, run).is_disturbed);

  run.after.all_seconds = 908.3;  // less than a tenth of a core
  CHECK_FALSE(judge(kLoad, run).is_disturbed);

  // The others have CPUs of their own if one thread runs on two CPUs, or two threads on eight.
  run.after.all_seconds = 910.0;
  Load roomy = kLoad;
  roomy.threads = 1;
  CHECK_FALSE(judge(roomy, run).is_disturbed);
  roomy = kLoad;
  roomy.available = {.cpus = 8, .cores = 8};
  CHECK(judge(roomy, run).busy == Approx(2.0 / 32.0));
  CHECK_FALSE(judge(roomy, run).is_disturbed);
  // If four CPUs share two cores, the two threads leave no core free.
  roomy.available = {.cpus = 4, .cores = 2};
  CHECK(judge(roomy, run).is_disturbed);
  // On many cores, another program takes only a small share of the time, but all threads wait for
  // the one that it delays.
  Load large = kLoad;
  large.threads = 32;
  large.available = {.cpus = 32, .cores = 32};
  run.after.all_seconds = 900.0 + 8.0 + 2.0;  // half a core for 4 seconds
  CHECK(judge(large, run).busy == Approx(1.0 / 64.0));
  CHECK(judge(large, run).is_disturbed);
}

TEST_CASE("a run is disturbed if its threads had to leave their CPUs") {
  Run run = quiet_run();
  run.switches = 49.0;
  CHECK_FALSE(judge(kLoad, run).is_disturbed);
  run.switches = 50.0;
  CHECK(judge(kLoad, run).is_disturbed);
}

TEST_CASE("a run is disturbed if the limit that applies to it changes or is exceeded") {
  Run run = quiet_run();
  run.limit_after.flop = 10.0;  // does not count, because reading takes longer
  CHECK_FALSE(judge(kLoad, run).is_disturbed);
  run.limit_before.bytes = 95.0;
  CHECK(judge(kLoad, run).is_disturbed);

  Run fast = quiet_run();
  fast.seconds = 0.7;  // 100 bytes at 125 a second take 0.8
  CHECK(judge(kLoad, fast).of_limit > 1.0);
  CHECK(judge(kLoad, fast).is_disturbed);

  Load quantized = kLoad;
  quantized.work = {1.0, 10.0, 500.0};
  Run slower = quiet_run();
  slower.limit_after.int8_ops = 700.0;
  CHECK(judge(quantized, slower).is_disturbed);
}

TEST_CASE("four threads on two cores, which take turns, do not disturb one another") {
  Load crowd = kLoad;
  crowd.threads = 4;
  Run run = quiet_run();
  run.switches = 500.0;
  CHECK_FALSE(judge(crowd, run).is_disturbed);
  run.after.all_seconds += 2.0;
  CHECK(judge(crowd, run).is_disturbed);
}

TEST_CASE("disturbed runs are repeated, but only a limited number of times") {
  const Attempt bad = attempt(1.0, true, 0.5);
  CHECK(repeated(3, {attempt(5), attempt(4), attempt(6), bad}, 3) == std::vector{5.0, 4.0, 6.0});
  CHECK(repeated(3, {attempt(5), bad, attempt(4), bad, attempt(6)}, 5) ==
        std::vector{5.0, 4.0, 6.0});
  // If too few runs are undisturbed, those of the others that were least disturbed make up the
  // number.
  const Attempt better = attempt(2.0, true, 0.3);
  CHECK(repeated(3, {bad, attempt(5), bad, better, bad, attempt(6)}, 6) ==
        std::vector{5.0, 6.0, 2.0});
  CHECK(repeated(2, {bad, bad, better, bad}, 4) == std::vector{2.0, 1.0});
  CHECK(repeated(1, {bad, attempt(5)}, 2) == std::vector{5.0});
}

TEST_CASE("a row has the median of its runs, and the extremes") {
  const std::vector<Attempt> odd = {attempt(5), attempt(9, true, 0.3), attempt(4)};
  const Summary row = summarize(odd);
  CHECK(row.tokens_per_s == 5.0);
  CHECK(row.min == 4.0);
  CHECK(row.max == 9.0);
  CHECK(row.of_limit == 0.05);
  CHECK(row.busy == Approx(0.1));
  CHECK(row.disturbed == 1);
  CHECK(row.by_memory);

  std::vector<Attempt> even = {attempt(7), attempt(5), attempt(9), attempt(4)};
  even[0].by_memory = even[1].by_memory = even[2].by_memory = false;
  CHECK(summarize(even).tokens_per_s == 5.0);
  CHECK_FALSE(summarize(even).by_memory);
}

TEST_CASE("a row has the same content in text as in JSON") {
  Json row = {{"workload", "writing"}, {"tokens_per_s", 444.35}, {"min", 440.0},
              {"max", 446.0},          {"bytes_per_s", 27.3e9},  {"flop_per_s", 150.4e9},
              {"int8_op_per_s", 0.0},  {"of_limit", 0.9514},     {"limit", "memory"},
              {"busy", 0.312},         {"disturbed", 0}};
  const std::string begin = "  writing                           444.4   440.0 .. 446.0  ";
  CHECK(bench_row(row) == begin + "   27.3 GB/s 95.1 %\n");
  row["disturbed"] = 1;
  CHECK(bench_row(row) == begin + "   27.3 GB/s 95.1 %*\n");
  row["of_limit"] = nullptr;
  CHECK(bench_row(row) == begin + "   27.3 GB/s >100 %*\n");
  row["limit"] = "arithmetic";
  row["of_limit"] = 0.5;
  row["disturbed"] = 0;
  CHECK(bench_row(row) == begin + " 150 GFLOP/s 50.0 %\n");
  row["int8_op_per_s"] = 1.25e12;
  CHECK(bench_row(row) == begin + "  1.40 TOP/s 50.0 %\n");
  CHECK(bench_row({{"workload", "reading"}, {"skipped", "too long"}}) ==
        "  reading                        skipped: too long\n");
}

TEST_CASE("the last line counts the rows that were disturbed") {
  Json all = {
      {"busy", 0.25},
      {"measurements", {{{"disturbed", 0}}, {{"skipped", "too long"}}, {{"disturbed", 0}}}}};
  CHECK(bench_conclusion(all) == "");
  all["measurements"][0]["disturbed"] = 2;
  const std::string begin = "rows are disturbed, and their speeds are probably too low: ";
  CHECK(bench_conclusion(all) ==
        "* 1 of 2 " + begin +
            "other programs took 25 % of the CPU time. Measure again when nothing else runs.\n");
  all["measurements"][2]["disturbed"] = 1;
  all["busy"] = 0.004;
  CHECK(bench_conclusion(all).starts_with(
      "* 2 of 2 " + begin +
      "the speed of the machine changed meanwhile. To measure without disturbance, "));
}

TEST_CASE("a row of bench fits in 80 columns, and its rate is never 0") {
  Json row = {{"workload", "reading a prompt of 512 tokens"},
              {"tokens_per_s", 1e5},
              {"min", 99999.6},
              {"max", 123456.0},
              {"limit", "arithmetic"},
              {"of_limit", 0.9999},
              {"bytes_per_s", 1e6},
              {"int8_op_per_s", 0.0},
              {"busy", 0.5},
              {"disturbed", 1}};
  for (const auto& [flop, shown] : {std::pair{4e5, " 400 kFLOP/s"},
                                    {9.996e6, " 10.0 MFLOP/s"},
                                    {9.9996e8, " 1.00 GFLOP/s"},
                                    {3e7, " 30.0 MFLOP/s"},
                                    {1.234e13, " 12.3 TFLOP/s"}}) {
    row["flop_per_s"] = flop;
    CAPTURE(bench_row(row));
    CHECK(bench_row(row).find(shown) != std::string::npos);
    CHECK(bench_row(row).size() <= 81);  // with its newline
  }
  row["max"] = 1234567.0;
  CHECK(bench_row(row).find(" .. 1.23M ") != std::string::npos);
  CHECK(bench_row(row).size() <= 81);
}

TEST_CASE("the time that CPUs were busy is read from /proc/stat") {
  // user nice system idle iowait irq softirq steal guest guest_nice
  const std::string text =
      "cpu  1111 222 333 99999 444 55 66 77 0 0\n"
      "cpu0 100 20 30 9000 7 1 2 3 50 0\n"
      "cpu1 200 0 0 9000 0 0 0 44 0 0\n"
      "cpu12 1000 0 0 9000\n"
      "cpu13 1000 0 0 9000 5\n"
      "intr 12 0\n"
      "cpus 5 5 5 5 5 5 5 5\n";
  const auto busy = [&](auto is_usable) { return busy_seconds(text, 100.0, is_usable); };
  CHECK(busy([](int cpu) { return cpu == 0; }) == 1.56);
  CHECK(busy([](int cpu) { return cpu <= 1; }) == 1.56 + 2.44);
  CHECK(busy([](int cpu) { return cpu == 13; }) == 10.0);  // an old kernel, which counts less
  CHECK_FALSE(busy([](int) { return false; }).has_value());
  CHECK_FALSE(busy_seconds("", 100.0, [](int) { return true; }).has_value());
}

TEST_CASE("the share of other programs is between 0 and 1, whatever was read") {
  const CpuUse before = {.seconds = 1.0, .all_seconds = 10.0, .own_seconds = 5.0};
  CpuUse after = {.seconds = 2.0, .all_seconds = 12.0, .own_seconds = 6.0};
  CHECK(share_of_others(before, after, 2) == 0.5);
  after.own_seconds = 8.0;  // more than all CPUs together: the clocks are inexact
  CHECK(share_of_others(before, after, 2) == 0.0);
  after.all_seconds = 100.0;
  CHECK(share_of_others(before, after, 2) == 1.0);
  CHECK(share_of_others(before, before, 2) == 0.0);
}

TEST_CASE("the facts about this machine are plausible") {
  CHECK(cpu_name() != "");
  CHECK(utc_now().size() == std::string("2024-05-06T07:08:09Z").size());
  const Cpus cpus = usable_cpus();
  CHECK(cpus.cores >= 1);
  CHECK(cpus.cores <= cpus.cpus);
  const CpuUse before = cpu_use();
  CHECK(before.own_seconds > 0.0);
  CHECK(cpu_use().seconds >= before.seconds);
  CHECK(forced_switches() >= 0.0);
}

}  // namespace gpt2::test::repetition_test
