#include "operators/hash_join/emitter.hpp"

namespace crossdock::operators {

Emitter::Emitter(const OutputContext& context, RowSink& sink, int worker)
    : sink_(&sink), worker_(worker), counts_only_(sink.counts_only()) {
  for (int presence = 0; presence < kPresenceCount; ++presence) {
    builders_.emplace_back(context, static_cast<Presence>(presence));
  }
}

Status Emitter::emit(const JoinedRows& block) {
  rows_ += block.rows;
  if (counts_only_ || block.rows == 0) return {};
  BatchBuilder& builder = builders_[static_cast<size_t>(block.presence)];
  if (!builder.has_room(block.rows)) CD_TRY(pass_on(builder));
  return builder.append(block);
}

Status Emitter::flush(int64_t rows_min) {
  for (BatchBuilder& builder : builders_) {
    if (builder.rows() >= rows_min) CD_TRY(pass_on(builder));
  }
  return {};
}

Status Emitter::pass_on(BatchBuilder& builder) {
  CD_ASSIGN(Batch batch, builder.finish());
  return sink_->accept(worker_, std::move(batch));
}

}  // namespace crossdock::operators
