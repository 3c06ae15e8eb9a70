// PMIx, of which versions 3 to 5 have what is used here.
#include "data/ranks/pmix/pmix_group.hpp"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <pmix.h>

#include <fmt/ranges.h>

#include "base/home_process.hpp"

namespace crossdock::ranks {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kProbe{1'000};   // for finding out who has not come, or what is on its way
constexpr milliseconds kLookEvery{50};  // at who is known to have ended
constexpr size_t kNamedMax = 16;

// What PMIx tells from its own thread, perhaps when no thread waits any more.
class Answers {
 public:
  explicit Answers(size_t count) : states_(count, PMIX_ERR_TIMEOUT), left_(count) {}
  void arrived(size_t which, pmix_status_t state) {
    const std::lock_guard lock(mutex_);
    states_[which] = state;
    --left_;
    changed_.notify_all();
  }
  std::vector<pmix_status_t> wait(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, end, [&] { return left_ == 0; });
    return states_;
  }
  bool have_come() {
    const std::lock_guard lock(mutex_);
    return left_ == 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<pmix_status_t> states_;
  size_t left_;
};

// Lives until PMIx has answered; owned by the call that is under way. PMIx's own thread reads what it is asked with, so
// that lies here, too.
struct Question {
  Question(std::shared_ptr<Answers> shared, size_t place, const pmix_proc_t& asked)
      : answers(std::move(shared)), which(place), process(asked) {
    std::memset(&option, 0, sizeof option);
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question() { PMIX_INFO_DESTRUCT(&option); }

  std::shared_ptr<Answers> answers;
  size_t which;
  pmix_proc_t process;
  pmix_info_t option;
  std::string key;
};

void fence_answered(pmix_status_t state, void* question) {
  const std::unique_ptr<Question> owned(static_cast<Question*>(question));
  owned->answers->arrived(owned->which, state);
}

void value_answered(pmix_status_t state, pmix_value_t*, void* question) {
  fence_answered(state, question);
}

Error pmix_error(const char* what, pmix_status_t state) {
  return make_error(ErrorCode::kInvalidArgument,
                    "PMIx cannot {}: {}; start the ranks with mpirun or `srun --mpi=pmix`, or set "
                    "CROSSDOCK_RANK, CROSSDOCK_RANKS and CROSSDOCK_MEET",
                    what,
                    PMIx_Error_string(state));
}

class PmixGroup : public RankGroup {
 public:
  PmixGroup(const pmix_proc_t& self, int size) : self_(self), size_(size) {}
  ~PmixGroup() override {
    if (home_.is_here()) PMIx_Finalize(nullptr, 0);
  }
  int rank() const override { return static_cast<int>(self_.rank); }
  int size() const override { return size_; }
  Result<std::vector<std::string>> gather(const std::string& mine, milliseconds at_most) override;

 private:
  pmix_proc_t rank_named(pmix_rank_t rank) const {
    pmix_proc_t process = self_;
    process.rank = rank;
    return process;
  }
  std::string key() const { return fmt::format("crossdock.{}", round_); }
  Status put(const std::string& mine) const;
  Status fence(Clock::time_point end, milliseconds at_most) const;
  Result<pmix_status_t> wait_while_all_live(Answers& answers, Clock::time_point end) const;
  Result<std::string> text_of(int rank) const;
  Error missing(milliseconds after) const;
  Error left_early(pmix_status_t state) const;

  const HomeProcess home_;
  pmix_proc_t self_;
  int size_;
  int round_ = 0;
  bool is_over_ = false;
};

Status PmixGroup::put(const std::string& mine) const {
  pmix_value_t value;
  std::memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = const_cast<char*>(mine.data());
  value.data.bo.size = mine.size();
  pmix_status_t state = PMIx_Put(PMIX_GLOBAL, key().c_str(), &value);
  if (state == PMIX_SUCCESS) state = PMIx_Commit();
  if (state != PMIX_SUCCESS) return pmix_error("take this rank's address", state);
  return {};
}

// A rank that is known to have ended may have left after the fence, whose answer is on its way here: it is given time.
Result<pmix_status_t> PmixGroup::wait_while_all_live(Answers& answers,
                                                     Clock::time_point end) const {
  Status alive;
  while (alive.ok()) {
    const auto next_look = Clock::now() + kLookEvery;
    if (next_look >= end) return answers.wait(end)[0];
    answers.wait(next_look);
    if (answers.have_come()) return answers.wait(next_look)[0];
    for (int rank = 0; alive.ok() && rank < size_; ++rank) alive = check_alive(rank);
  }
  answers.wait(std::min(end, Clock::now() + kProbe));
  if (!answers.have_come()) return alive.error();
  return answers.wait(end)[0];
}

Status PmixGroup::fence(Clock::time_point end, milliseconds at_most) const {
  const bool collects = true;
  const auto answers = std::make_shared<Answers>(1);
  auto question = std::make_unique<Question>(answers, 0, rank_named(PMIX_RANK_WILDCARD));
  PMIX_INFO_LOAD(&question->option, PMIX_COLLECT_DATA, &collects, PMIX_BOOL);
  pmix_status_t state =
      PMIx_Fence_nb(&question->process, 1, &question->option, 1, fence_answered, question.get());
  if (state == PMIX_SUCCESS) {
    question.release();  // fence_answered's
    CD_ASSIGN(state, wait_while_all_live(*answers, end));
    if (state != PMIX_SUCCESS && state != PMIX_ERR_TIMEOUT) return left_early(state);
  } else if (state == PMIX_OPERATION_SUCCEEDED) {
    state = PMIX_SUCCESS;
  }
  if (state == PMIX_ERR_TIMEOUT) return missing(at_most);
  if (state != PMIX_SUCCESS) return pmix_error("bring all ranks together", state);
  return {};
}

Result<std::string> PmixGroup::text_of(int rank) const {
  const pmix_proc_t process = rank_named(static_cast<pmix_rank_t>(rank));
  pmix_value_t* value = nullptr;
  const pmix_status_t state = PMIx_Get(&process, key().c_str(), nullptr, 0, &value);
  if (state != PMIX_SUCCESS) return pmix_error("give the address of another rank", state);
  std::string text;
  if (value->type == PMIX_BYTE_OBJECT && value->data.bo.bytes != nullptr) {
    text.assign(value->data.bo.bytes, value->data.bo.size);
  }
  PMIX_VALUE_RELEASE(value);
  return text;
}

// A fence does not say whom it waits for: each rank is asked for what it should have put.
Error PmixGroup::missing(milliseconds after) const {
  const auto answers = std::make_shared<Answers>(static_cast<size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    auto question = std::make_unique<Question>(
        answers, static_cast<size_t>(rank), rank_named(static_cast<pmix_rank_t>(rank)));
    question->key = key();
    const pmix_status_t state = PMIx_Get_nb(
        &question->process, question->key.c_str(), nullptr, 0, value_answered, question.get());
    if (state == PMIX_SUCCESS) {
      question.release();
    } else {
      answers->arrived(static_cast<size_t>(rank), state);
    }
  }
  const std::vector<pmix_status_t> states = answers->wait(Clock::now() + kProbe);
  std::vector<size_t> ranks;
  for (size_t rank = 0; rank < states.size(); ++rank) {
    if (states[rank] != PMIX_SUCCESS && ranks.size() < kNamedMax) ranks.push_back(rank);
  }
  return make_error(ErrorCode::kAgentLost,
                    "not all of {} ranks came to meeting {} within {:.3g} s, perhaps not: {}; look "
                    "at their output",
                    size_,
                    round_,
                    static_cast<double>(after.count()) * 1e-3,
                    fmt::join(ranks, ", "));
}

// How PMIx puts it that a rank ended while others waited for it depends on the launcher.
Error PmixGroup::left_early(pmix_status_t state) const {
  return make_error(ErrorCode::kAgentLost,
                    "meeting {} of {} ranks ended before all had come ({}): a rank has left; look "
                    "at their output",
                    round_,
                    size_,
                    PMIx_Error_string(state));
}

Result<std::vector<std::string>> PmixGroup::gather(const std::string& mine, milliseconds at_most) {
  CD_TRY(home_.check(fmt::format("rank {} of a PMIx job", rank())));
  if (is_over_) {
    return make_error(ErrorCode::kAgentLost,
                      "the group is over: some rank did not come to an earlier meeting");
  }
  is_over_ = true;  // until all have come
  const Clock::time_point end = Clock::now() + at_most;
  CD_TRY(put(mine));
  CD_TRY(fence(end, at_most));
  std::vector<std::string> all;
  for (int rank = 0; rank < size_; ++rank) {
    CD_ASSIGN(std::string text, text_of(rank));
    all.push_back(std::move(text));
  }
  is_over_ = false;
  ++round_;
  return all;
}

Result<int> job_size(const pmix_proc_t& self) {
  pmix_proc_t all = self;
  all.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* value = nullptr;
  const pmix_status_t state = PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, &value);
  if (state != PMIX_SUCCESS) return pmix_error("say how many ranks there are", state);
  const uint32_t size = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
  PMIX_VALUE_RELEASE(value);
  if (size <= self.rank) {
    return make_error(ErrorCode::kInvalidArgument,
                      "PMIx says that this is rank {} of {}; it should count from 0",
                      self.rank,
                      size);
  }
  return static_cast<int>(size);
}

}  // namespace

Result<std::unique_ptr<RankGroup>> join_pmix_server() {
  pmix_proc_t self;
  const pmix_status_t state = PMIx_Init(&self, nullptr, 0);
  if (state != PMIX_SUCCESS) return pmix_error("find who started this process", state);
  Result<int> size = job_size(self);
  if (!size.ok()) {
    PMIx_Finalize(nullptr, 0);
    return size.error();
  }
  return std::unique_ptr<RankGroup>(std::make_unique<PmixGroup>(self, size.value()));
}

}  // namespace crossdock::ranks
