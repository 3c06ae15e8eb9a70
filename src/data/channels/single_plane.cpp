#include "data/channels/single_plane.hpp"

#include "data/channels/local_channel.hpp"

namespace crossdock::channels {

Status ChannelRegister::add(const std::shared_ptr<ChannelCore>& core) {
  const std::lock_guard lock(mutex_);
  std::erase_if(cores_, [](const auto& entry) { return entry.second.expired(); });
  const uint64_t id = core->plan().spec().id;
  const auto [at, is_new] = cores_.try_emplace(id, core);
  if (is_new) return {};
  if (at->second.expired()) {
    at->second = core;
    return {};
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "channel {} is open, or is over and still held; ids of channels are used once, "
                    "so take another",
                    id);
}

std::shared_ptr<ChannelCore> ChannelRegister::find(uint64_t channel) const {
  const std::lock_guard lock(mutex_);
  const auto at = cores_.find(channel);
  return at == cores_.end() ? nullptr : at->second.lock();
}

std::vector<std::shared_ptr<ChannelCore>> ChannelRegister::open_ones() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ChannelCore>> open;
  for (const auto& [id, weak] : cores_) {
    auto core = weak.lock();
    if (core != nullptr && !core->is_over()) open.push_back(std::move(core));
  }
  return open;
}

Result<PartMemory> own_part_memory(Memory& memory, uint64_t bytes, uint64_t channel) {
  // Blocks are aligned to 64 bytes, and flows to 128.
  CD_ASSIGN(Block block,
            memory.get(static_cast<int64_t>(bytes + rings::kRingLineBytes),
                       fmt::format("channel {}", channel)));
  const auto owner = std::make_shared<Block>(std::move(block));
  auto* begin = reinterpret_cast<std::byte*>(owner->data());
  begin += (rings::kRingLineBytes - reinterpret_cast<uintptr_t>(begin) % rings::kRingLineBytes) %
           rings::kRingLineBytes;
  return PartMemory{.bytes = {begin, bytes}, .keep = owner, .is_fresh = false};
}

Result<std::shared_ptr<ChannelCore>> make_single_core(Memory& memory,
                                                      std::shared_ptr<const ChannelLayout> plan) {
  CD_TRY(plan->check_memory(0));
  const PartPlan part = plan->part_of(0);
  CD_ASSIGN(const PartMemory placed, own_part_memory(memory, part.bytes, plan->spec().id));
  return ChannelCore::make(std::move(plan), 0, placed);
}

Result<std::shared_ptr<Channel>> SinglePlane::open_part(const ChannelSpec& spec) {
  CD_ASSIGN(auto plan, ChannelLayout::make(spec, {0}));
  CD_ASSIGN(auto core, make_single_core(*memory_, std::move(plan)));
  CD_TRY(channels_.add(core));
  if (const Status alive = losses_.check_group(); !alive.ok()) {
    core->close(alive.error());
    return alive.error();
  }
  return std::shared_ptr<Channel>(std::make_shared<LocalChannel>(std::move(core)));
}

void SinglePlane::abort(const std::string& reason) {
  const Error cause = make_error(ErrorCode::kAgentLost, "rank 0 has ended the group: {}", reason);
  losses_.end(cause);
  for (const auto& core : channels_.open_ones()) core->close(cause);
}

}  // namespace crossdock::channels
