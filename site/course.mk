# The course: build, serve, test in a browser, measure.
PORT ?= 8000
ADDRESS ?= http://127.0.0.1:$(PORT)

course: site ## build the course into site/dist and serve it on http://127.0.0.1:8000
	@$(PY) site/serve.py --port $(PORT)

site: $(STAMP) ## build the course into site/dist (ADDRESS=https://host/path: where it will be served)
	@$(PY) site/build.py --address '$(ADDRESS)'

browser: $(STAMP) ## install what the browser tests need, where it can be installed
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
		(apt-get update -qq && apt-get install -y -qq chromium fonts-noto-cjk) || \
		{ echo "no Chromium, and apt-get can't install it here: the browser tests need one on PATH"; exit 1; }

bench-course: $(STAMP) browser ## time from opening a lesson to a live slider, against marimo's own export
	@$(PY) site/build.py
	@$(PY) site/measure.py

.PHONY: course site browser bench-course
