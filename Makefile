# longhaul: what can be made here. `make` alone prints this list.
.DEFAULT_GOAL := help
SHELL := /bin/bash -o pipefail
GO ?= go
export GO

FUZZTIME ?= 20s
SEEDS ?= 101-110
KILLS ?= 60
OUTAGE ?= 60s
# The checkers are no dependencies of the module: each is built at its pinned version when it is run.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
WORKFLOWCHECK := go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## builds, then trains an agent from end to end and shows what it learnt; again = goes on (ARGS=--fresh starts over)
	@./bin/longhaul demo $(ARGS)

.PHONY: build
build: ## compiles ./bin/longhaul (minutes the first time, with progress; seconds later)
	@scripts/build.sh bin/longhaul ./cmd/longhaul

# Directories of scripts/worlds that the tests need: environments, and agents, of other languages.
WORLDS := mcp process

# What the tests need of Python and Node, unless the environment names it.
PYTHON = if [ -z "$$LONGHAUL_TEST_PYTHON" ]; then env=$$(scripts/python.sh) && export LONGHAUL_TEST_PYTHON=$$env/bin/python \
	LONGHAUL_TEST_MOTO=$$env/bin/moto_server LONGHAUL_TEST_TEMPORAL=$$env/bin/temporal; fi && \
	if [ -z "$$LONGHAUL_TEST_WORLDS" ]; then worlds=$$(scripts/worlds.sh $(WORLDS)) && export LONGHAUL_TEST_WORLDS=$$worlds; fi

.PHONY: test-worlds
test-worlds: ## environments in other languages, for real: OpenEnv's servers, a thousand episodes with each of three MCP servers, a hundred of reasoning-gym, TextWorld and tau2 (installs them once; about 30 minutes on 2 cores)
	@worlds=$$(scripts/worlds.sh openenv mcp process reasoning_gym textworld tau2) && export LONGHAUL_TEST_WORLDS=$$worlds && $(GO) test -count=1 -timeout 60m -run Real ./envs/openenv && \
	LONGHAUL_TEST_EPISODES=1000 $(GO) test -count=1 -timeout 90m -v -run ManyEpisodes ./envs/mcp && \
	$(GO) test -count=1 -timeout 60m -v -run ShippedWorlds ./envs/process

.PHONY: test
test: build ## all tests with the real parts, the trainer in PyTorch among them (cold about 15 minutes on 2 cores, warm about 10)
	@$(PYTHON) && echo "testing every package; a line as each is done" && $(GO) test -timeout 30m ./...

.PHONY: test-go
test-go: build ## the same without what needs Python
	@echo "testing every package; a line as each is done"
	@$(GO) test -timeout 20m ./...

# Left out are the tests of the arithmetic kernels and of the network: they are long loops over slices that no two
# goroutines share, and many times slower under the detector. Their code is instrumented all the same where the
# embedded policy and the activities use it, with several lanes at once.
.PHONY: race
race: ## the tests under the race detector, those of the arithmetic excepted (compiles everything once more; about 25 minutes on 2 cores)
	@echo "testing under the race detector; compiling for it takes minutes the first time"
	@$(GO) test -race -timeout 60m $$($(GO) list ./... | grep -v -e /tiny/kern -e /tiny/nn $(RACE_LEFT_OUT))

.PHONY: test-vllm
test-vllm: build ## trains three updates with real vLLM on the CPU, which is killed, paused and put to sleep on the way (needs Python 3.12; 12 GB the first time; about 10 minutes on 2 cores)
	@dir=$$(mktemp -d) && scripts/vllm.sh $$dir/run && rm -rf $$dir

.PHONY: test-agents
test-agents: build ## agents of six frameworks call the gateway in every way they can; each is trained for two updates, once with kill -9 in mid-episode (needs Node; 300 MB the first time; about 20 minutes on 2 cores)
	@worlds=$$(scripts/worlds.sh agents) && LONGHAUL_TEST_AGENTS=$$worlds $(GO) test -count=1 -timeout 60m -v -run Frameworks ./gateway
	@dir=$$(mktemp -d) && scripts/agents.sh $$dir && rm -rf $$dir

.PHONY: check
check: ## formatting, vet, staticcheck, workflowcheck, the house's own rules, replay of recorded histories
	@echo "gofmt" && bad=$$(gofmt -l $$(git ls-files '*.go')) && if [ -n "$$bad" ]; then echo "gofmt -w these: $$bad"; exit 1; fi
	@echo "go vet" && $(GO) vet ./...
	@echo "staticcheck" && $(GO) run $(STATICCHECK) ./...
	@echo "workflowcheck: nothing that replay could not repeat" && $(GO) run $(WORKFLOWCHECK) ./workflows/...
	@echo "imports, comments, links" && $(GO) test -count=1 .
	@echo "recorded histories" && $(GO) test -count=1 -run Replay ./workflows
	@echo "go mod verify" && $(GO) mod verify

.PHONY: bench
bench: build ## measures this machine, as ratios of things measured side by side
	@./bin/longhaul bench $(ARGS)

.PHONY: crash
crash: ## kills everything, KILLS (60) times at random and at every named point, sets the clock forward and back, takes the policy away for OUTAGE (60s), and compares what is left
	@$(PYTHON) && LONGHAUL_KILLS=$(KILLS) LONGHAUL_OUTAGE=$(OUTAGE) LONGHAUL_CLOCK_TEST=1 $(GO) test -run 'Kill|Crash|Resume|Paused|Faulty|Outlives' -count=1 -timeout 60m -v ./... | grep -v -e 'no test files' -e 'no tests to run'

.PHONY: results
results: build ## trains the demo on ten fresh seeds (SEEDS=101-110), and four estimators with three losses each, and a noisy judge; the latter two go on where they were stopped
	@$(GO) run scripts/results.go -seeds $(SEEDS)
	@$(GO) run ./scripts/curves -set judge
	@$(GO) run ./scripts/curves -set estimators

.PHONY: test-tinker
test-tinker: build ## updates and a run in a real Tinker service, SkyRL on the CPU, which is killed and whose answers are lost (needs uv and Python 3.12; 5.7 GB the first time; about 20 minutes on 2 cores)
	@scripts/tinker.sh

.PHONY: test-kube
test-kube: ## update jobs in a real Kubernetes API server with its Job controller (builds them the first time: 7 CPU minutes)
	@scripts/test_kube.sh

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (20s)
	@scripts/fuzz.sh $(FUZZTIME)

PYTHON_PINNED := 3.11
PINNED = uv pip compile --quiet --universal --python-version $(PYTHON_PINNED) --generate-hashes --no-annotate --no-header
PIN = $(PINNED) requirements.in -o requirements.txt
.PHONY: requirements
requirements: requirements-tinker requirements-vllm ## pins what the trainer, the tests and the scripts need of Python and Node (needs uv and npm)
	@for d in trainer .ci scripts/uv; do (cd $$d && $(PIN)) || exit 1; done
	@cd scripts/real_judge && $(PIN) --no-deps
	@cd scripts/kube && $(PIN) --no-deps
	@cd scripts/smol && $(PIN) --no-deps
	@cd scripts/worlds && for in in *.in; do $(PINNED) $$(grep -om1 -e --no-deps $$in) $$in -o $${in%.in}.txt || exit 1; done
	@for d in scripts/worlds/*/; do (cd $$d && npm install --package-lock-only --omit-lockfile-registry-resolved=true --silent --no-audit --no-fund) || exit 1; done

.PHONY: requirements-tinker requirements-vllm
requirements-tinker requirements-vllm: PYTHON_PINNED = 3.12
requirements-tinker:
	@cd scripts/tinker && $(PIN) --override overrides.txt
requirements-vllm:
	@cd scripts/vllm && $(PIN) --override override.txt
