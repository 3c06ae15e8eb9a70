// Operations on the rows of all ranks: rows move, then each rank runs the operation on what came.
#include <memory>
#include <utility>

#include <crossdock/arrow_c.hpp>

#include "session/group_state.hpp"
#include "session/rank_join.hpp"
#include "session/rank_sort.hpp"
#include "session/state.hpp"

namespace crossdock {
namespace {

ArrowTable result_of(const Engine& engine, Operation&& operation) {
  ArrowArrayStream stream;
  operation.collect(&stream);
  return ArrowTable::from_stream(engine, &stream);
}

// By hash, so that keys of different types that are equal meet, and any pattern of integers is even.
ChannelOptions by_hash_of(std::vector<std::string> columns) {
  ChannelOptions options;
  options.by = std::move(columns);
  options.hash = true;
  options.how = "auto";
  return options;
}

}  // namespace

ArrowTable Group::join(const Engine& engine,
                       const ArrowTable& left,
                       const ArrowTable& right,
                       const JoinOptions& options) const {
  if (size() == 1) return result_of(engine, Join(engine, left, right, options));
  ranks::Communicator* const ranks =
      value_or_throw(state_->bulk.choose("auto", state_->ranks.get()));
  const bool is_partitioned =
      options.strategy == "auto" || options.strategy == "radix" || options.strategy == "merge";
  if (ranks != nullptr && is_partitioned) {
    operators::RankPartition partition =
        value_or_throw(partition_join(*ranks, engine, left, right, options));
    if (partition.sides != nullptr)
      return result_of(engine, Join(engine, std::move(partition.sides)));
  }
  if (options.how == "anti_null_aware") {  // one NULL on the right concerns all rows of the left
    ChannelOptions to_all;
    to_all.broadcast = true;
    to_all.how = "auto";
    return result_of(engine, Join(engine, left, exchange(right, to_all), options));
  }
  std::vector<std::string> keys[2];
  for (const auto& [left_key, right_key] : options.on) {
    keys[0].push_back(left_key);
    keys[1].push_back(right_key);
  }
  const ArrowTable own_left = exchange(left, by_hash_of(std::move(keys[0])));
  const ArrowTable own_right = exchange(right, by_hash_of(std::move(keys[1])));
  return result_of(engine, Join(engine, own_left, own_right, options));
}

ArrowTable Group::group_by(const Engine& engine,
                           const ArrowTable& rows,
                           const GroupByOptions& options) const {
  if (size() == 1) return result_of(engine, GroupBy(engine, rows, options));
  if (options.keys.empty()) {
    throw_error(make_error(ErrorCode::kInvalidArgument,
                           "groups over ranks need a key, and there is none\n"
                           "  try      collect(), and GroupBy in the rank that has got the rows"));
  }
  return result_of(engine, GroupBy(engine, exchange(rows, by_hash_of(options.keys)), options));
}

ArrowTable Group::sort(const Engine& engine,
                       const ArrowTable& rows,
                       const SortOptions& options) const {
  if (size() == 1) return result_of(engine, Sort(engine, rows, options));
  ranks::Communicator* const ranks =
      value_or_throw(state_->bulk.choose("bulk", state_->ranks.get()));
  TablePtr sorted = value_or_throw(sort_rows(*ranks, engine, rows, options));
  return ArrowTable(std::make_shared<ArrowTable::State>(ArrowTable::State{std::move(sorted)}));
}

}  // namespace crossdock
