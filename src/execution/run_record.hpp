// What a run of a plan tells of itself: its pipelines in the order of their runs, and for each node of the plan the
// rows that were expected and those that came.
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>
#include <vector>

#include "execution/pipeline.hpp"
#include "operators/run/operator_run.hpp"
#include "plan/node.hpp"

namespace crossdock::execution {

// Used by one thread.
class RunRecord {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RunRecord(bool measures) : measures_(measures) {}

  // For the next pipeline; nullptr where its parts are not to be measured.
  Meters* meters();
  // Before the node's rows are there.
  void expect(const plan::Node& node, int64_t rows) { expected_[&node] = rows; }
  // A chain that has run into `sink`, for `node`, since `start`. `rows`: that the sink has kept; -1: not known yet.
  struct Sink {
    std::string what;
    const plan::Node* node;
    int64_t rows;
  };
  void add(const Chain& chain, const Sink& sink, Clock::time_point start);

  // "operators" and "pipelines". Operators are numbered from the root on, and seconds of threads are sums over all.
  operators::Facts facts(const plan::Node& root) const;

 private:
  struct Part {
    std::string what;
    const plan::Node* node = nullptr;
    int64_t rows = -1;          // that leave it; -1: not counted
    double thread_seconds = 0;  // where it is measured
  };
  struct Pipeline {
    std::vector<Part> parts;
    double seconds = 0;
  };
  struct Measured {
    int64_t rows = -1;
    double thread_seconds = 0;
  };
  using Numbers = std::unordered_map<const plan::Node*, int64_t>;

  // What the operator that makes a chain's rows has planned and done.
  void add_operator(const Chain& chain, Part& part);
  std::unordered_map<const plan::Node*, Measured> measured() const;
  std::vector<operators::Facts> operator_facts(const std::vector<const plan::Node*>& nodes,
                                               const Numbers& numbers) const;
  operators::Facts pipeline_facts(const Pipeline& pipeline, const Numbers& numbers) const;

  bool measures_;
  std::unordered_map<const plan::Node*, operators::Facts> ran_;  // operators over tables
  Meters meters_;
  std::vector<Pipeline> pipelines_;
  Numbers expected_;
};

}  // namespace crossdock::execution
